// SPDX-License-Identifier: BSD-3-Clause
// Makes the mistake that the argument names, as a unit test might.
#include "tests/sanitizers/mistakes.hpp"

int main(int argc, char **argv) {
  return argc == 2 && sluice::tests::make_mistake(argv[1]) ? 0 : 2;
}
