// SPDX-License-Identifier: BSD-3-Clause
#include "ops/stream/named_streams.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace sluice::ops::stream {

NamedStreams &NamedStreams::process() {
  static auto *made = new NamedStreams();
  return *made;
}

// MPICH's own handles of streams have one of the two highest bits set, or are kNull.
int NamedStreams::add(const NamedStream &named) {
  const std::scoped_lock lock(mutex_);
  streams_.emplace(last_ + 1, std::make_shared<const NamedStream>(named));
  return ++last_;
}

NamedStreamPtr NamedStreams::find(int number) const {
  const std::scoped_lock lock(mutex_);
  const auto found = streams_.find(number);
  return found != streams_.end() ? found->second : nullptr;
}

bool NamedStreams::remove(int number) {
  const std::scoped_lock lock(mutex_);
  return streams_.erase(number) != 0;
}

namespace {

Status bad_hex(const std::string &text, std::size_t n_bytes) {
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("\"{}\" does not stand for the {} bytes of a stream's handle; set the value with "
                                   "MPIX_Info_set_hex(info, \"value\", &stream, sizeof stream)",
                                   text.substr(0, 64), n_bytes));
}

// Reads a number off the front of `rest`; false: there is none.
bool take_number(std::string_view *rest, std::size_t n_digits, int base, unsigned *number) {
  const char *begin = rest->data();
  const char *end = begin + std::min(n_digits, rest->size());
  const auto [after, error] = std::from_chars(begin, end, *number, base);
  rest->remove_prefix(static_cast<std::size_t>(after - begin));
  return error == std::errc();
}

}  // namespace

Status decode_hex(const std::string &text, std::span<std::byte> bytes) {
  std::string_view rest = text;
  std::size_t at = 0;
  while (!rest.empty()) {
    unsigned number = 0;
    if (rest.front() == '[') {
      rest.remove_prefix(1);
      if (!take_number(&rest, 4, 10, &number) || !rest.starts_with(']') || number > bytes.size() - at) {
        return bad_hex(text, bytes.size());
      }
      rest.remove_prefix(1);
      for (unsigned k = 0; k < number; ++k) bytes[at++] = std::byte{0};
    } else {
      const std::size_t n_before = rest.size();
      if (at == bytes.size() || !take_number(&rest, 2, 16, &number) || n_before - rest.size() != 2) {
        return bad_hex(text, bytes.size());
      }
      bytes[at++] = static_cast<std::byte>(number);
    }
  }
  return at == bytes.size() ? Status() : bad_hex(text, bytes.size());
}

std::string encode_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte one : bytes) text += fmt::format("{:02X}", static_cast<unsigned>(one));
  return text;
}

}  // namespace sluice::ops::stream
