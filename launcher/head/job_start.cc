#include "launcher/head/job_start.h"

#include <algorithm>
#include <string>

namespace paceline::launcher {
namespace {

// The programs that have ranks of the share, each with as many as it has there.
void take_apps(const messages::Start& job, const HostShare& share, messages::Start& part) {
  part.clear_apps();
  int first = 0;
  for (const messages::App& app : job.apps()) {
    const int end = first + static_cast<int>(app.ranks());
    const int ranks =
        std::min(end, share.first_rank + share.ranks) - std::max(first, share.first_rank);
    first = end;
    if (ranks <= 0) continue;
    *part.add_apps() = app;
    part.mutable_apps(part.apps_size() - 1)->set_ranks(static_cast<std::uint32_t>(ranks));
  }
}

}  // namespace

messages::Start start_of(const JobSpec& job) {
  messages::Start start;
  start.set_world_size(static_cast<std::uint32_t>(job.ranks()));
  start.set_local_ranks(static_cast<std::uint32_t>(job.ranks()));
  for (const ProgramSpec& program : job.programs) {
    messages::App& app = *start.add_apps();
    app.set_ranks(static_cast<std::uint32_t>(program.ranks));
    for (const std::string& word : program.command) app.add_command(word);
    for (const EnvironmentSetting& setting : program.environment) {
      messages::Variable& variable = *app.add_environment();
      variable.set_name(setting.name);
      variable.set_value(setting.value.value_or(""));
    }
    app.set_working_directory(program.working_directory);
  }
  start.set_split_lines(job.splits_lines());
  start.set_output_directory(job.output_directory);
  for (int rank = 0; rank < job.ranks(); ++rank)
    start.add_on_console(job.console_ranks.contains(rank));
  if (job.stdin_rank) start.set_stdin_rank(static_cast<std::uint32_t>(*job.stdin_rank));
  return start;
}

messages::Start part_of(const messages::Start& job, const HostShare& share, std::uint32_t index) {
  messages::Start part = job;
  part.set_host(share.host);
  part.set_host_index(index);
  part.set_first_rank(static_cast<std::uint32_t>(share.first_rank));
  part.set_local_ranks(static_cast<std::uint32_t>(share.ranks));
  take_apps(job, share, part);
  part.clear_on_console();
  for (int i = 0; i < share.ranks; ++i) part.add_on_console(job.on_console(share.first_rank + i));
  return part;
}

}  // namespace paceline::launcher
