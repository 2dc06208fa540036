// SPDX-License-Identifier: BSD-3-Clause
// The kernels given to the vendor's own compiler, for a device that is not here. It shows that they compile, not that
// they compute: the loop-back runtime and the other vendors' devices show that of the same bodies.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../reduction.h"
#include "../kernel_compiler.h"

namespace kernels = sluice::kernels;
using sluice::backends::hip::compile_kernel;
using sluice::backends::hip::has_compiler;

namespace {

// An ELF file in a bundle, or by itself.
bool is_code(const std::vector<char> &code) {
  const std::string text(code.begin(), code.end());
  return text.find("\177ELF") != std::string::npos && text.find("sluice_kernel") != std::string::npos;
}

void leave_without_compiler() {
  if (has_compiler()) return;
  std::printf("missing: the compiler of this vendor (libhiprtc, or libamdhip64 of release 5)\n");
  std::exit(77);
}

void compile_legal(unsigned first_element, unsigned step) {
  leave_without_compiler();
  unsigned n_compiled = 0;
  for (unsigned e = first_element; e < static_cast<unsigned>(kernels::Element::kCount); e += step) {
    for (unsigned o = 0; o < static_cast<unsigned>(kernels::Operation::kCount); ++o) {
      const auto element = static_cast<sluice_element_t>(e);
      const auto operation = static_cast<sluice_operation_t>(o);
      if (!sluice::backends::is_legal(element, operation)) continue;
      std::vector<char> code;
      ASSERT_EQ(compile_kernel(sluice::backends::hip::reduction_body(element, operation), "gfx90a", &code), "")
          << sluice::backends::pair_name(element, operation);
      EXPECT_TRUE(is_code(code)) << sluice::backends::pair_name(element, operation);
      ++n_compiled;
      if (step > 1) break;  // one operation of it
    }
  }
  EXPECT_GT(n_compiled, 0U);
  std::printf("%u kernels compiled for gfx90a\n", n_compiled);
}

}  // namespace

TEST(Compile, ReductionsOfSomeTypes) {
  compile_legal(0, 5);
}

TEST(Compile, AllButReductions) {
  leave_without_compiler();
  namespace hip = sluice::backends::hip;
  for (const auto &body : {hip::copies_body(), hip::pack_body(), hip::rearrange_body(), hip::check_body(),
                           hip::work_body(), hip::take_body(), hip::trigger_body(), hip::await_body()}) {
    std::vector<char> code;
    ASSERT_EQ(compile_kernel(body, "gfx90a", &code), "") << body.share;
    EXPECT_TRUE(is_code(code)) << body.share;
  }
}

TEST(CompileAll, Reductions) {
  compile_legal(0, 1);
}
