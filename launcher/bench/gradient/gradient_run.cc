#include "launcher/bench/gradient/gradient_run.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/bench/captured_run.h"
#include "launcher/check/check_run.h"
#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kPipeline = "paceline", kDdp = "ddp";
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

}  // namespace

Result<GradientSite> gradient_site(const GradientRequest& request) {
  PACELINE_TRY_ASSIGN(std::string folder, folder_of_programs());
  PACELINE_TRY_ASSIGN(const std::vector<std::string> hosts, hosts_to_check(request.job));
  const auto host_count = static_cast<int>(hosts.size());
  const int ranks = request.ranks.value_or(host_count > 1 ? host_count : kDefaultRanks);
  GradientSite site{.folder = folder,
                    .ranks = ranks,
                    .launcher = {folder + "/paceline", "run", "-n", std::to_string(ranks)}};
  const auto add = [&site](const std::vector<std::string>& words) {
    site.launcher.insert(site.launcher.end(), words.begin(), words.end());
  };
  add(request.host_words);
  if (!request.ranks && host_count > 1 && request.job.ranks_per_host == 0) add({"-N", "1"});
  add({"--no-tag-output", "--stdin", "none", "--"});
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
      return missing("ddp: there is no " + contender.program +
                     "; it comes with the tests where PyTorch is found (Debian: python3-torch)");
  }
  if (!is_program(contender.program))
    return missing("there is no " + contender.program +
                   ", which measures; it is built with paceline itself");
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
          .steps = request.steps};
}

Result<probe::GradientJob> run_gradient_job(const GradientSite& site, const std::string& program,
                                            probe::GradientOrders orders, double step_us) {
  const std::chrono::seconds patience = patience_of(step_us);
  orders.timeout_s = static_cast<int>(patience.count());
  CapturedProgram captured{.words = site.launcher, .environment = {}, .shows_errors = true};
  captured.words.insert(captured.words.end(), {program, probe::kGradientMode});
  const std::vector<std::string> words = probe::to_words(orders);
  captured.words.insert(captured.words.end(), words.begin(), words.end());
  probe::GradientJob job;
  const auto take = [&](std::size_t, const std::string& line) {
    probe::take_line(line, job);
    return CapturedAnswer{.silence = patience};
  };
  PACELINE_TRY_ASSIGN(const auto ends, run_captured(std::span(&captured, 1), patience, take));
  const std::optional<int> status = ends.front().wait_status;
  if (!status)
    return Status(Code::kTimeout, Scope::kOperation,
                  "its ranks have said nothing for " + seconds_text(patience) + ", and were ended");
  if (*status != 0)
    return Status(Code::kUnavailable, Scope::kOperation, "it has failed, for the reason above");
  return job;
}

}  // namespace paceline::launcher
