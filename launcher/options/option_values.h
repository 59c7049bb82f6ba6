// What is written after the options of commands, as values. Pure; an error quotes the text and says
// what it should have been, without the option's name.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// That what a user wrote cannot be meant.
Status usage_error(const std::string& text);

/// A whole number from 1 to kMaxRanks.
Result<int> parse_count(const std::string& text);
Result<int> parse_restarts(const std::string& text);

/// 0 to a year, in seconds or with a unit: 0.5, 500ms, 90s, 15m, 2h, 1d.
Result<std::chrono::nanoseconds> parse_seconds(const std::string& text);

/// Like parse_seconds(), but at least 2 s, because a process sends Alive once a second.
Result<std::chrono::nanoseconds> parse_max_silence(const std::string& text);

/// NAME=value or NAME.
Result<EnvironmentSetting> parse_setting(const std::string& text);

/// ADDR:PORT with a numeric address: "10.0.0.1:7000", "[::]:0".
Result<std::string> parse_control(const std::string& text);
/// The same, or only a port, which is then of 127.0.0.1.
Result<std::string> parse_page_address(const std::string& text);

/// FLOP/s: a number above 0, like 312e12.
Result<double> parse_peak_flops(const std::string& text);
/// "comm", "input" or both with a comma.
Result<Ablation> parse_ablation(const std::string& text);

/// A rank, or "none".
Result<std::optional<int>> parse_stdin_rank(const std::string& text);

}  // namespace paceline::launcher
