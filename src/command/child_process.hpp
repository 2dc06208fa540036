// SPDX-License-Identifier: BSD-3-Clause
// Short questions to other programs and libraries, asked in a child process so that a crash or a hang stays there.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::command {

// Most time that a question may take.
inline constexpr std::chrono::seconds kQuestionTime{10};

// What the program argv[0] (looked up on PATH) writes to standard output and standard error together. Empty when it
// cannot be started, ends with another status than 0, or takes longer than kQuestionTime. Blocks until then.
// Any thread.
[[nodiscard]] std::optional<std::string> output_of(const std::vector<std::string> &argv);

// What `answer` returns in a fork of this process. Empty when the fork does not end by itself with the answer. Call it
// while the process has one thread.
[[nodiscard]] std::optional<std::string> answer_of_fork(const std::function<std::string()> &answer);

}  // namespace sluice::command
