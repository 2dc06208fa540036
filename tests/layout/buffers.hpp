// SPDX-License-Identifier: BSD-3-Clause
// Memory for elements of a datatype, moved by its layout and by the host MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transfer/layout.hpp"
#include "wire/host.hpp"

namespace sluice::tests {

using Bytes = std::vector<unsigned char>;

// Memory that holds `count` elements of a type with room to spare on both sides. Every byte differs from the next one.
class Elements {
 public:
  Elements(MPI_Datatype type, int count, unsigned salt);

  [[nodiscard]] unsigned char *origin() { return bytes_.data() + offset_; }
  [[nodiscard]] const Bytes &bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::ptrdiff_t offset_ = 0;
};

// What the host MPI packs of `count` elements at `origin`, and the reverse.
Bytes pack(const void *origin, int count, MPI_Datatype type);
void unpack(const Bytes &packed, void *origin, int count, MPI_Datatype type);

// The same by the layout alone.
Bytes gather(const unsigned char *origin, int count, const transfer::Layout &layout);
void scatter(const Bytes &packed, unsigned char *origin, int count, const transfer::Layout &layout);

// Whether `count` elements name no byte twice, as types to receive into must.
bool is_receivable(const transfer::Layout &layout, int count);

// "" when the layout says of `type` what the host MPI says and moves `count` elements as it does, in both directions;
// else what differs.
std::string difference(MPI_Datatype type, int count, const transfer::Layout &layout);

// Lets both predefined communicators keep their errors instead of ending the program.
void watch_errors();
// "" when there was none so far.
std::string errors_seen();

}  // namespace sluice::tests
