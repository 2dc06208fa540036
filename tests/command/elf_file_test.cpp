// SPDX-License-Identifier: BSD-3-Clause
// read_elf on whole, cut and damaged files.
#include "command/elf_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <iterator>

namespace sluice::command::elf_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char *kFixtures = SLUICE_TEST_FIXTURES;

fs::path fixture(const char *leaf) {
  return fs::path(kFixtures) / leaf;
}

std::string contents(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path written(const std::string &bytes) {
  const fs::path path = fs::path(testing::TempDir()) / ("sluice_elf_test." + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ElfFile_Reads, NeededLibrariesAndRunpath) {
  const auto elf = read_elf(fixture("program.mpich"));
  if (!elf) FAIL() << "no ELF file";
  EXPECT_TRUE(elf->is_dynamic);
  EXPECT_TRUE(elf->has_loader);
  EXPECT_THAT(elf->needed, Contains("libmpi.so.12"));
  EXPECT_THAT(elf->runpath + elf->rpath, HasSubstr("command_fake_mpich"));
}

TEST(ElfFile_IsEmpty, ForOtherFiles) {
  EXPECT_FALSE(read_elf(fixture("no such file")).has_value());
  EXPECT_FALSE(read_elf(kFixtures).has_value());
  EXPECT_FALSE(read_elf(written("")).has_value());
  EXPECT_FALSE(read_elf(written("#!/bin/sh\n")).has_value());
}

// A cut file gives what lies before the cut, and never more than the whole file does.
TEST(ElfFile_Survives, FilesCutAnywhere) {
  const std::string whole = contents(fixture("program.mpich"));
  for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 61 : 1021) {
    const auto elf = read_elf(written(whole.substr(0, size)));
    if (elf) {
      EXPECT_LE(elf->needed.size(), 8U) << "cut after " << size << " bytes";
    }
  }
}

// Every byte of the headers and of the dynamic section's beginning turned over in turn: wrong answers are allowed,
// reads outside the file are not (the address sanitizer's build of this test would see them).
TEST(ElfFile_Survives, DamagedHeaders) {
  const std::string whole = contents(fixture("program.mpich"));
  for (std::size_t at = 4; at < 1024; at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    const auto elf = read_elf(written(damaged));
    if (elf) {
      EXPECT_LE(elf->needed.size(), 100000U) << "damaged at " << at;
    }
  }
}

}  // namespace
}  // namespace sluice::command::elf_file_test
