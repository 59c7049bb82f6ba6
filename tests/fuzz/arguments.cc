// The arguments of `paceline run`, a NUL byte behind each: what is accepted is a job within its
// bounds, and what is refused says something. Nothing is thrown.

#include <algorithm>
#include <string>
#include <vector>

#include "comm/base/assert.h"
#include "launcher/options/run_options.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline::launcher {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text) {
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void check_program(const ProgramSpec& program, const Words& words) {
  PACELINE_ASSERT(program.ranks >= 0 && program.ranks <= kMaxRanks);
  PACELINE_ASSERT(!program.command.empty() && !program.command.front().empty());
  for (const EnvironmentSetting& setting : program.environment)
    PACELINE_ASSERT(!setting.name.empty() && setting.name.find('=') == std::string::npos);
  // The program and its arguments are words of the command line, as they were.
  const auto found =
      std::search(words.begin(), words.end(), program.command.begin(), program.command.end());
  PACELINE_ASSERT(found != words.end());
}

void check(const JobSpec& job, const Words& words) {
  constexpr auto kYear = std::chrono::hours(24 * 366);
  const int ranks = job.ranks();
  PACELINE_ASSERT(!job.programs.empty() && ranks <= kMaxRanks);
  for (const ProgramSpec& program : job.programs) check_program(program, words);
  PACELINE_ASSERT(job.stdin_rank.value_or(0) >= 0);
  if (job.states_ranks()) {
    PACELINE_ASSERT(job.stdin_rank.value_or(0) < ranks);
    PACELINE_ASSERT(job.console_ranks.highest_named() < ranks);
  }
  PACELINE_ASSERT(job.timeout >= job.timeout.zero() && job.timeout <= kYear);
  PACELINE_ASSERT(job.grace >= job.grace.zero() && job.grace <= kYear);
  PACELINE_ASSERT(job.hosts.empty() || job.host_file.empty());
  for (const HostSlots& host : job.hosts)
    PACELINE_ASSERT(!host.name.empty() && host.slots.value_or(1) >= 1);
  const std::string directory = expand_output_directory(job.output_directory, "id", "/here");
  PACELINE_ASSERT(directory.empty() == job.output_directory.empty());
  PACELINE_ASSERT(directory.empty() || directory.front() == '/');
}

}  // namespace
}  // namespace paceline::launcher

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto words = paceline::launcher::split(std::string(data, data + size));
  const auto job = paceline::launcher::parse_run(words);
  if (job.ok()) {
    paceline::launcher::check(*job, words);
  } else {
    PACELINE_ASSERT(!job.status().text().empty());
  }
  (void)paceline::launcher::run_help(words);
  return 0;
}
