#include "launcher/tools/measure/bench/rounds.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/system/exit_status.h"

namespace paceline::launcher {
namespace {

constexpr int kTries = 3;  // of a peer's run that hangs: Open MPI's mpirun does now and then
constexpr Duration kQuiet = std::chrono::seconds(30);
constexpr Duration kGlance = std::chrono::milliseconds(100);

}  // namespace

Rounds::Rounds(const std::vector<Contender>& contenders, const BenchSite& site,
               const BenchRequest& request, Warn warn)
    : warn_(std::move(warn)), contenders_(contenders), site_(site), orders_(request.orders) {
  orders_.limits = false;
  orders_.rounds = request.pairs;
}

Result<int> Rounds::run() {
  for (int tries = 1;; ++tries) {
    PACELINE_TRY_ASSIGN(const std::vector<Measured> measured, try_once());
    const auto failed = std::find_if(measured.begin(), measured.end(), [](const Measured& one) {
      return one.exit_code.value_or(0) != 0;
    });
    if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
    if (failed == measured.end()) return 0;
    const bool is_ours = failed == measured.begin();
    const bool hung = failed->exit_code == kExitTimeout;
    if (hung) ++hangs_;
    if (hung && !is_ours && tries < kTries) continue;
    const std::string& name = contenders_[static_cast<std::size_t>(failed - measured.begin())].name;
    warn_(name + (hung ? " did not end" : " has failed") +
          (failed->errors.empty() ? "" : "; its output:\n" + failed->errors));
    return *failed->exit_code;
  }
}

Result<std::vector<Measured>> Rounds::try_once() {
  const std::size_t sizes = orders_.sizes().size();
  series_.clear();
  for (const Contender& contender : contenders_)
    series_.push_back(
        {.name = contender.name, .rows = std::vector<std::vector<probe::Row>>(sizes)});
  std::size_t come = 0;
  const auto keep = [&](std::size_t which, const probe::Row& row) {
    auto& rows = series_[which].rows;
    const auto is_incomplete = [&](const auto& runs) {
      return std::cmp_less(runs.size(), orders_.rounds);
    };
    const auto size = std::find_if(rows.begin(), rows.end(), is_incomplete);
    if (size != rows.end()) size->push_back(row);
    say_progress(++come);
  };
  return run_contenders(contenders_, site_, orders_, keep);
}

// On a terminal a line that is written anew, elsewhere one now and then.
void Rounds::say_progress(std::size_t rows) const {
  const std::size_t all =
      contenders_.size() * orders_.sizes().size() * static_cast<std::size_t>(orders_.rounds);
  const std::string text = "paceline: turn " + std::to_string(rows) + " of " + std::to_string(all);
  const TimePoint now = clock_.now();
  if (now - said_ < (::isatty(STDERR_FILENO) == 1 ? kGlance : kQuiet)) return;
  said_ = now;
  if (::isatty(STDERR_FILENO) == 1) {
    std::fprintf(stderr, "\r%s\033[K", text.c_str());
  } else {
    std::fprintf(stderr, "%s, %s\n", text.c_str(), seconds_text(now - begin_).c_str());
  }
}

std::string Rounds::summary() const {
  std::string text = "# " + std::to_string(orders_.rounds) + " rounds in turn, " +
                     seconds_text(clock_.now() - begin_) + "; 'x ours': its time divided by ours";
  if (hangs_ > 0)
    text += "; runs of a peer that did not end and were repeated: " + std::to_string(hangs_);
  return text + "\n";
}

}  // namespace paceline::launcher
