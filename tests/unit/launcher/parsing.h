// What parsers of words and texts make of them, and what they say of those that are wrong.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/status.h>

#include "launcher/options/run_options.h"

namespace paceline::launcher {

using Words = std::vector<std::string>;

inline Words words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

template <typename T>
T accepted(const Result<T>& parsed) {
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  return parsed.ok() ? *parsed : T();
}

template <typename T>
std::string refusal_of(const Result<T>& parsed) {
  EXPECT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
  return parsed.status().text();
}

inline JobSpec job_of(const Words& words) { return accepted(parse_run(words)); }

}  // namespace paceline::launcher
