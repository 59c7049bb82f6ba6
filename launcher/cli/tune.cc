// paceline tune: measures once which method is the fastest on this machine, for all later jobs.
#include "launcher/tools/measure/tune/tune.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "collectives/tuning_file.h"
#include "comm/base/cpus.h"
#include "comm/base/machine.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/system/complain.h"
#include "launcher/system/new_file.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "launcher/tools/measure/bench/bench_report.h"
#include "launcher/tools/measure/bench/contender.h"
#include "launcher/tools/measure/bench/rounds.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::launcher {
namespace {

Result<std::string> file_of(const TuneRequest& request, const std::string& machine) {
  if (!request.keeps || !request.file.empty()) return request.file;
  const std::string folder = tuning_folder(::getenv);
  if (folder.empty())
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "XDG_CACHE_HOME and HOME are not set; use --output FILE for the result");
  return folder + "/" + tuning_name(machine);
}

Result<Contender> contender_of(const BenchSite& site, shm::Method method) {
  const std::string word(word_of(method));
  return own_contender(site, "", "PACELINE_SHM_METHOD=" + word);
}

// The time of the method beyond the limit over that of the one below, at each size; ranks are
// started once.
Result<std::vector<double>> measure_once(const TuneTask& task, const BenchRequest& request) {
  PACELINE_TRY_ASSIGN(const BenchSite site, bench_site(task.ranks));
  std::vector<Contender> contenders;
  for (const shm::Method method : {task.below, task.beyond}) {
    PACELINE_TRY_ASSIGN(Contender contender, contender_of(site, method));
    contenders.push_back(std::move(contender));
  }
  std::string said;
  Rounds rounds(contenders, site, request, [&said](const std::string& text) { said = text; });
  PACELINE_TRY_ASSIGN(const int exit_code, rounds.run());
  if (exit_code != 0)
    return Status(Code::kUnavailable, Scope::kOperation, said.empty() ? "a rank failed" : said);
  std::vector<double> ratios;
  for (std::size_t size = 0; size < request.orders.sizes().size(); ++size)
    ratios.push_back(compare(rounds.series()[1].rows[size], rounds.series()[0].rows[size]).median);
  return ratios;
}

// The medians over the starts: where the memory of a process happens to lie, one method may be the
// quicker in one start and the other in the next.
Result<std::vector<MethodRatio>> measure(const TuneTask& task, int starts) {
  const BenchRequest request = bench_of(task);
  const std::vector<std::size_t> sizes = request.orders.sizes();
  std::vector<std::vector<double>> all(sizes.size());
  for (int start = 0; start < starts; ++start) {
    PACELINE_TRY_ASSIGN(const std::vector<double> ratios, measure_once(task, request));
    for (std::size_t size = 0; size < sizes.size(); ++size) all[size].push_back(ratios[size]);
  }
  std::vector<MethodRatio> ratios;
  for (std::size_t size = 0; size < sizes.size(); ++size)
    ratios.push_back(
        {.bytes = contribution_bytes(task, sizes[size]), .ratio = probe::quantile(all[size], 0.5)});
  return ratios;
}

std::string_view place_of(const TuneTask& task) {
  return task.limit == shm::Limit::kOrdinary ? "ordinary" : "buffers ";
}

void print(const TuneTask& task, std::span<const MethodRatio> ratios, std::size_t most,
           std::size_t built_in) {
  const std::string was = most == built_in ? "" : ", was " + std::to_string(built_in);
  const ContributedBytes from_to = contributed_bytes(task);
  std::printf("%-14s %2d ranks, %s  %s up to %zu B%s, then %s (%zu to %zu B:",
              std::string(name(task.kind)).c_str(), task.ranks, std::string(place_of(task)).c_str(),
              std::string(word_of(task.below)).c_str(), most, was.c_str(),
              std::string(word_of(task.beyond)).c_str(), from_to.least, from_to.most);
  for (const MethodRatio& one : ratios) std::printf(" %.2f", one.ratio);
  std::puts(")");
  std::fflush(stdout);
}

Status tune(const TuneRequest& request) {
  const std::string machine = machine_fingerprint();
  PACELINE_TRY_ASSIGN(const std::string file, file_of(request, machine));
  std::unique_ptr<NewFile> kept;
  if (request.keeps) {
    // The user's cache may be new; what cannot be made is named by what follows.
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
    PACELINE_TRY_ASSIGN(kept, NewFile::make(file));
  }
  PACELINE_TRY(adopt_orphans());
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const int cpus = allowed_cpus();
  const std::vector<int> ranks = request.ranks.empty() ? default_ranks(cpus) : request.ranks;
  shm::Tuning tuning{.machine = machine, .sizes = {}};
  std::printf(
      "# machine %s, %d CPUs\n"
      "# in brackets, by bytes that a rank contributes: time of the second method divided by\n"
      "# that of the first\n",
      machine.c_str(), cpus);
  for (const TuneTask& task : tune_tasks(ranks, cpus)) {
    PACELINE_TRY_ASSIGN(const std::vector<MethodRatio> ratios, measure(task, request.starts));
    const std::size_t built_in = built_in_size(task, cpus);
    const std::size_t most = best_limit(ratios, built_in);
    print(task, ratios, most, built_in);
    tuning.sizes.push_back(
        {.kind = task.kind, .ranks = task.ranks, .limit = task.limit, .most_bytes = most});
  }
  if (kept) PACELINE_TRY(kept->keep(shm::to_text(tuning)));
  std::printf("# %s%s\n", seconds_text(clock.now() - begin).c_str(),
              request.keeps ? (", stored in " + file).c_str() : "; nothing is stored");
  return Status();
}

}  // namespace

int tune_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::fputs(tune_help().c_str(), stdout);
    return 0;
  }
  const Result<TuneRequest> request = parse_tune(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline tune --help");
  const Status tuned = tune(*request);
  return tuned.ok() ? 0 : complain(tuned.text());
}

}  // namespace paceline::launcher
