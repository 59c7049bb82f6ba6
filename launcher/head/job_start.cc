#include "launcher/head/job_start.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/job_key.h"

namespace paceline::launcher {
namespace {

// The programs that have some of the ranks, each with as many as it has of them.
void take_apps(std::span<const int> ranks, messages::Start& part) {
  google::protobuf::RepeatedPtrField<messages::App> apps;
  apps.Swap(part.mutable_apps());
  int first = 0;
  for (messages::App& app : apps) {
    const int end = first + static_cast<int>(app.ranks());
    const auto count =
        std::ranges::lower_bound(ranks, end) - std::ranges::lower_bound(ranks, first);
    first = end;
    if (count == 0) continue;
    app.set_ranks(static_cast<std::uint32_t>(count));
    *part.add_apps() = std::move(app);
  }
}

}  // namespace

Result<std::string> make_job_id() {
  std::array<std::byte, 8> bytes;
  PACELINE_TRY(fill_system_random(bytes));
  return to_hexadecimal(bytes);
}

Result<std::string> make_job_key() {
  PACELINE_TRY_ASSIGN(const JobKey key, JobKey::generate());
  std::array<std::byte, JobKey::kBytes> bytes;
  key.copy_to(bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

messages::Start start_of(const JobSpec& job) {
  messages::Start start;
  start.set_world_size(static_cast<std::uint32_t>(job.ranks()));
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
  start.set_grace_ns(std::chrono::nanoseconds(job.grace).count());
  start.set_signals_groups(job.signals_groups);
  start.set_max_silence_ns(std::chrono::nanoseconds(job.max_silence).count());
  start.set_split_lines(job.splits_lines());
  start.set_output_directory(job.output_directory);
  for (int rank = 0; rank < job.ranks(); ++rank)
    start.add_on_console(job.console_ranks.contains(rank));
  if (job.stdin_rank) start.set_stdin_rank(static_cast<std::uint32_t>(*job.stdin_rank));
  start.set_max_epoch(static_cast<std::uint32_t>(job.restarts.max_restarts));
  start.set_stays(job.restarts.max_restarts > 0);
  start.set_ablated(job.ablation.to_text());
  start.set_python_hooks(job.python_hooks);
  return start;
}

void number_start(messages::Start& part, std::uint32_t epoch) {
  part.set_epoch(epoch);
  if (epoch > 0 && !part.output_directory().empty())
    part.set_output_directory(part.output_directory() + "/restart." + std::to_string(epoch));
}

void give_ranks(messages::Start& part, std::span<const int> ranks) {
  take_apps(ranks, part);
  google::protobuf::RepeatedField<bool> on_console;
  on_console.Swap(part.mutable_on_console());
  bool has_input = false;
  for (const int rank : ranks) {
    part.add_ranks(static_cast<std::uint32_t>(rank));
    part.add_on_console(on_console[rank]);
    has_input |= part.has_stdin_rank() && std::cmp_equal(part.stdin_rank(), rank);
  }
  part.set_input_comes(part.input_comes() && has_input);
  if (!part.input_comes()) part.clear_input_terminal();
}

}  // namespace paceline::launcher
