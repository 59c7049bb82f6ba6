#include "launcher/tools/measure/bench/gradient/gradient_run.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/system/system.h"
#include "launcher/tools/measure/captured_job.h"
#include "launcher/tools/measure/captured_run.h"
#include "launcher/tools/measure/check/check_run.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kDdp = "ddp";
constexpr int kDefaultRanks = 2;
// The pipeline decides its buckets in the first five steps, and then takes one with them.
constexpr int kPipelineWarmUps = 6;
// DDP decides its buckets after the first one; ddp.py looks where they are after the second.
constexpr int kDdpWarmUps = 4;
constexpr int kOtherWarmUps = 1;

// Until the first line come the start, the wire's measurement, and for DDP the exchange of all
// parameters.
constexpr std::chrono::seconds kStartPatience{300};
constexpr double kStepsOfPatience = 20;
constexpr std::chrono::seconds kMostPatience{24 * 3600};

std::chrono::seconds patience_of(double step_us) {
  const std::chrono::duration<double, std::micro> steps(kStepsOfPatience * step_us);
  const auto patience = kStartPatience + std::chrono::ceil<std::chrono::seconds>(steps);
  return std::min<std::chrono::seconds>(patience, kMostPatience);
}

Status missing(const std::string& text) {
  return Status(Code::kUnavailable, Scope::kOperation, text);
}

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

class GradientRun {
 public:
  GradientRun(const GradientSite& site, std::span<const GradientProgram> programs,
              std::chrono::seconds patience, const OnGradientTurn& on_turn)
      : site_(site),
        programs_(programs),
        patience_(patience),
        on_turn_(on_turn),
        turns_(gradient_turns(programs.size(), programs.front().orders.turns)),
        jobs_(programs.size()) {}

  Result<std::vector<probe::GradientJob>> run() {
    std::vector<CapturedProgram> captured;
    for (const GradientProgram& program : programs_) captured.push_back(captured_of(program));
    PACELINE_TRY_ASSIGN(
        const std::vector<CapturedEnd> ends,
        run_captured(captured, patience_, [this](std::size_t which, const std::string& line) {
          return take(which, line);
        }));
    PACELINE_TRY(judge(ends));
    return std::move(jobs_);
  }

 private:
  CapturedProgram captured_of(const GradientProgram& program) const {
    probe::GradientOrders orders = program.orders;
    const auto all = static_cast<std::chrono::seconds::rep>(programs_.size()) * patience_;
    orders.timeout_s = static_cast<int>(all.count());
    JobSpec job = site_.job;
    job.programs.front().command = {program.path, probe::kGradientMode};
    CapturedProgram captured =
        captured_job(std::move(job), probe::to_words(orders), /*listens=*/true);
    // Who waits for a turn does not stall.
    if (std::getenv("PACELINE_STALL_S") == nullptr)
      captured.environment.emplace_back("PACELINE_STALL_S", std::to_string(orders.timeout_s));
    return captured;
  }

  CapturedAnswer take(std::size_t which, const std::string& line) {
    probe::take_line(line, jobs_[which]);
    CapturedAnswer answer{.silence = patience_};
    if (line != probe::kPassedLine) return answer;
    if (waiting_ < programs_.size()) ++waiting_;
    if (waiting_ < programs_.size()) {
      answer.starts_next = true;
    } else if (next_ < turns_.size()) {
      on_turn_(next_, turns_[next_]);
      answer.tells = {.whom = turns_[next_], .line = "go"};
      ++next_;
    }
    return answer;
  }

  // Who has failed, else who was silent: whose turn it was, or who was to come to where it waits.
  Status judge(const std::vector<CapturedEnd>& ends) const {
    const auto has_failed = [](const CapturedEnd& end) { return end.wait_status.value_or(0) != 0; };
    const auto failed = std::ranges::find_if(ends, has_failed);
    if (failed != ends.end())
      return Status(Code::kUnavailable, Scope::kOperation, "it failed, for the reason above")
          .with_context(programs_[static_cast<std::size_t>(failed - ends.begin())].name);
    const auto has_ended = [](const CapturedEnd& end) { return end.wait_status.has_value(); };
    if (std::ranges::all_of(ends, has_ended)) return {};
    const std::size_t silent = next_ > 0 ? turns_[next_ - 1] : waiting_;
    return Status(Code::kTimeout, Scope::kOperation,
                  "its ranks printed nothing for " + seconds_text(patience_) + ", and were ended")
        .with_context(programs_[silent].name);
  }

  const GradientSite& site_;
  const std::span<const GradientProgram> programs_;
  const std::chrono::seconds patience_;
  const OnGradientTurn& on_turn_;
  const std::vector<std::size_t> turns_;
  std::size_t waiting_ = 0;  // have come to where they wait
  std::size_t next_ = 0;     // turn
  std::vector<probe::GradientJob> jobs_;
};

}  // namespace

Result<GradientSite> gradient_site(const GradientRequest& request) {
  PACELINE_TRY_ASSIGN(std::string folder, folder_of_programs());
  PACELINE_TRY_ASSIGN(const std::vector<std::string> hosts, hosts_to_check(request.job));
  const auto host_count = static_cast<int>(hosts.size());
  const int ranks = request.ranks.value_or(host_count > 1 ? host_count : kDefaultRanks);
  GradientSite site{.folder = folder, .ranks = ranks, .job = request.job};
  site.job.programs.front().ranks = ranks;
  if (!request.ranks && host_count > 1 && site.job.ranks_per_host == 0) site.job.ranks_per_host = 1;
  return site;
}

Result<GradientContender> gradient_contender(const GradientSite& site, const std::string& name,
                                             const std::string& codec) {
  GradientContender contender{.name = name,
                              .program = site.folder + "/paceline-probe",
                              .reducer = name.substr(0, name.find(':')),
                              .warm_ups = kOtherWarmUps};
  if (contender.reducer == kPipeline) {
    contender.codec = name == kPipeline ? codec : name.substr(kPipeline.size() + 1);
    contender.warm_ups = kPipelineWarmUps;
  }
  if (name == kDdp) {
    contender.program = site.folder + "/paceline-peer-ddp";
    contender.warm_ups = kDdpWarmUps;
    if (!is_program(contender.program))
      return missing(
          "ddp: missing " + contender.program +
          "; it is built with the tests if PyTorch is found (Debian package: python3-torch)");
  }
  if (!is_program(contender.program))
    return missing("missing " + contender.program + "; it is built together with paceline");
  return contender;
}

probe::GradientOrders orders_of(const GradientRequest& request,
                                const GradientContender& contender) {
  return {.trace = request.trace,
          .scale = request.scale,
          .burns = request.burns,
          .reducer = contender.reducer,
          .codec = contender.codec,
          .warm_ups = contender.warm_ups,
          .turns = request.pairs,
          .steps = request.steps};
}

std::vector<std::size_t> gradient_turns(std::size_t programs, int rounds) {
  std::vector<std::size_t> turns;
  for (std::size_t round = 0; std::cmp_less_equal(round, rounds); ++round)
    for (std::size_t i = 0; i < programs; ++i) turns.push_back((i + round) % programs);
  return turns;
}

Result<std::vector<probe::GradientJob>> run_gradient_jobs(const GradientSite& site,
                                                          std::span<const GradientProgram> programs,
                                                          double step_us,
                                                          const OnGradientTurn& on_turn) {
  return GradientRun(site, programs, patience_of(step_us), on_turn).run();
}

}  // namespace paceline::launcher
