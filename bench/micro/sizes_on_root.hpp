// SPDX-License-Identifier: BSD-3-Clause
// A micro measure that rank 0 makes alone, size by size.
#pragma once

#include <string>
#include <utility>

#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// `measure` gives rank 0 the row of `size` (0 for a test without sizes); an exception or a failed check of it reaches
// all ranks. Collective over the world; no rank leaves before rank 0 has measured.
template <typename Measure>
void measure_size_on_root(Session &session, std::uint64_t size, Measure measure) {
  Row row;
  row.size_bytes = size;
  const std::string error = error_of([&] {
    if (session.world().is_root()) {
      row = measure(size);
    }
  });
  session.world().agree(session.options().test->has_sizes ? text_with_size(size, error) : error);
  row.check.failure = session.world().first_error(row.check.failure);
  session.add(std::move(row));
}

// The same for each of the sizes asked for.
template <typename Measure>
void measure_sizes_on_root(Session &session, Measure measure) {
  for (const std::uint64_t size : session.options().sizes) {
    measure_size_on_root(session, size, measure);
  }
}

}  // namespace sluice::bench
