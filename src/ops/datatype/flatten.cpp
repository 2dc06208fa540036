// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/flatten.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/datatype/assemble.hpp"
#include "ops/datatype/block_list.hpp"
#include "ops/datatype/handle_key.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/type_contents.hpp"
#include "ops/datatype/vector_stride.hpp"
#include "transfer/packing.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

// Types in types; the walk is recursive, and the thread's stack is the program's.
constexpr int kDeepestNesting = 1000;

// Open MPI makes a new type for each mention of a part, so that types which use their parts twice grow without limit.
constexpr std::size_t kMostTypes = std::size_t{256} << 10;

Status query_size(MPI_Datatype type, std::uint64_t *size_bytes) {
  MPI_Count size = 0;
  const int result = wire::host().MPI_Type_size_x(type, &size);
  if (result != MPI_SUCCESS) return host_refused("MPI_Type_size_x", result);
  *size_bytes = static_cast<std::uint64_t>(std::max<MPI_Count>(size, 0));
  return {};
}

Status query_extent(MPI_Datatype type, std::int64_t *extent_bytes) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  const int result = wire::host().MPI_Type_get_extent_x(type, &lower, &extent);
  if (result != MPI_SUCCESS) return host_refused("MPI_Type_get_extent_x", result);
  *extent_bytes = extent;
  return {};
}

// One walk through a type and the types that it is made of. Each distinct type is taken apart once. The handles that
// MPI_Type_get_contents gave are freed at the very end: until then no new type can get the value of one of them.
class Walk {
 public:
  // The blocks of `type`; they live as long as the walk.
  Status visit(MPI_Datatype type, int depth, const BlockList **blocks) {
    Node *node = nullptr;
    if (Status status = node_of(type, &node); !status.is_ok()) return status;
    if (!node->is_done) {
      if (Status status = fill(type, depth, node); !status.is_ok()) return status;
      node->is_done = true;
    }
    *blocks = &node->blocks;
    return {};
  }

  // Of the predefined types that were met: how long they are, if all are as long; else 0.
  [[nodiscard]] std::uint64_t element_bytes() const noexcept { return is_mixed_ ? 0 : element_bytes_; }

 private:
  struct Node {
    TypeEnvelope envelope;
    BlockList blocks;
    bool is_done = false;
  };

  Status node_of(MPI_Datatype type, Node **node) {
    const auto [at, is_new] = nodes_.try_emplace(key_of(type));
    *node = &at->second;
    return is_new ? read_envelope(type, &at->second.envelope) : Status();
  }

  // Blocks of one type; its parts are visited first.
  Status fill(MPI_Datatype type, int depth, Node *node) {
    std::uint64_t size_bytes = 0;
    if (Status status = query_size(type, &size_bytes); !status.is_ok() || size_bytes == 0) return status;
    if (node->envelope.is_predefined()) return fill_predefined(type, size_bytes, &node->blocks);
    if (depth > kDeepestNesting) {
      return Status::error(ErrorKind::kUnsupported, "a datatype of device data is nested more than " +
                                                        std::to_string(kDeepestNesting) +
                                                        " deep; build it from fewer steps");
    }
    TypeContents contents;
    if (Status status = receive(type, node->envelope, &contents); !status.is_ok()) return status;
    std::vector<Part> parts(contents.types.size());
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (Status status = visit(contents.types[k], depth + 1, &parts[k].blocks); !status.is_ok()) return status;
      if (Status status = query_extent(contents.types[k], &parts[k].extent_bytes); !status.is_ok()) return status;
    }
    if (!parts.empty()) {
      if (Status status = take_stride_of_host(type, parts[0], &contents); !status.is_ok()) return status;
    }
    if (Status status = assemble(contents, parts, &node->blocks); !status.is_ok()) return status;
    if (node->blocks.size_bytes() == size_bytes) return {};
    return Status::error(ErrorKind::kInternal,
                         "a datatype came apart into " + std::to_string(node->blocks.size_bytes()) +
                             " bytes where the host MPI counts " + std::to_string(size_bytes) + " (combiner " +
                             std::to_string(contents.combiner) + "); please report this with the type's constructor");
  }

  Status fill_predefined(MPI_Datatype type, std::uint64_t size_bytes, BlockList *blocks) {
    transfer::LayoutPtr named;
    bool fits = true;
    const bool is_pair = named_layout(type, &named) && !named->is_contiguous;
    is_mixed_ = is_mixed_ || is_pair || (element_bytes_ != 0 && element_bytes_ != size_bytes);
    element_bytes_ = size_bytes;
    if (is_pair) {
      for (const transfer::Block &block : named->blocks) {
        fits = fits && blocks->append(block.offset_bytes, block.size_bytes);
      }
    } else {
      fits = blocks->append(0, size_bytes);
    }
    return fits ? Status()
                : Status::error(
                      ErrorKind::kInternal,
                      "a predefined datatype of impossible size; report this with the name and version of the MPI");
  }

  // Takes over what MPI_Type_get_contents gives, even when a part of it turns out to be of no use.
  Status receive(MPI_Datatype type, const TypeEnvelope &envelope, TypeContents *contents) {
    if (nodes_.size() > kMostTypes) {
      return Status::error(ErrorKind::kUnsupported, "a datatype of device data is made of more than " +
                                                        std::to_string(kMostTypes) +
                                                        " derived datatypes; build it from fewer");
    }
    Status status = read_contents(type, envelope, contents);
    for (MPI_Datatype part : contents->types) {
      Node *node = nullptr;
      if (Status found = node_of(part, &node); !found.is_ok()) {
        status = std::move(found);
      } else if (!node->envelope.is_predefined()) {
        received_.emplace_back(part);
      }
    }
    return status;
  }

  std::unordered_map<std::uintptr_t, Node> nodes_;
  std::vector<wire::OwnedDatatype> received_;
  std::uint64_t element_bytes_ = 0;
  bool is_mixed_ = false;
};

}  // namespace

Status flatten(MPI_Datatype type, transfer::Layout *layout) {
  Walk walk;
  const BlockList nothing;
  const BlockList *found = &nothing;
  std::int64_t extent_bytes = 0;
  if (Status status = walk.visit(type, 0, &found); !status.is_ok()) return status;
  if (Status status = query_extent(type, &extent_bytes); !status.is_ok()) return status;
  const std::vector<transfer::Block> &blocks = found->blocks();
  layout->size_bytes = found->size_bytes();
  layout->extent_bytes = extent_bytes;
  layout->first_byte = 0;
  layout->end_byte = static_cast<std::int64_t>(layout->size_bytes);
  layout->is_contiguous = blocks.empty() || (blocks.size() == 1 && blocks[0].offset_bytes == 0 && extent_bytes >= 0 &&
                                             blocks[0].size_bytes == static_cast<std::uint64_t>(extent_bytes));
  if (layout->is_contiguous) {
    layout->blocks.clear();
    return {};
  }
  layout->blocks = blocks;  // a copy has no room to spare
  layout->packing = std::make_shared<transfer::Packing>(walk.element_bytes());
  layout->first_byte = std::numeric_limits<std::int64_t>::max();
  layout->end_byte = std::numeric_limits<std::int64_t>::min();
  layout->shortest_bytes = std::numeric_limits<std::uint64_t>::max();
  for (const transfer::Block &block : blocks) {
    layout->first_byte = std::min(layout->first_byte, block.offset_bytes);
    layout->end_byte = std::max(layout->end_byte, block.offset_bytes + static_cast<std::int64_t>(block.size_bytes));
    layout->shortest_bytes = std::min(layout->shortest_bytes, block.size_bytes);
    layout->longest_bytes = std::max(layout->longest_bytes, block.size_bytes);
  }
  return {};
}

}  // namespace sluice::ops
