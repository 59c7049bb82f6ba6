#include "launcher/bench/rounds.h"

#include <cstdio>
#include <utility>

#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/head/exit_code.h"

namespace paceline::launcher {
namespace {

constexpr int kTries = 3;  // of a peer's run that hangs: Open MPI's mpirun does now and then
constexpr Duration kQuiet = std::chrono::seconds(30);

}  // namespace

Rounds::Rounds(const std::vector<Contender>& contenders, const BenchSite& site,
               const BenchRequest& request, Warn warn)
    : warn_(std::move(warn)),
      contenders_(contenders),
      site_(site),
      orders_(request.orders),
      rounds_(request.pairs) {
  orders_.limits = false;
  for (const Contender& contender : contenders)
    series_.push_back({.name = contender.name,
                       .rows = std::vector<std::vector<probe::Row>>(orders_.sizes().size())});
}

Result<int> Rounds::run() {
  for (int round = 0; round < rounds_; ++round) {
    say_progress(round);
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const bool backwards = round % 2 == 1;
      PACELINE_TRY_ASSIGN(const int code, run_one(backwards ? contenders_.size() - 1 - i : i));
      if (code != 0) return code;
    }
  }
  if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
  return 0;
}

Result<int> Rounds::run_one(std::size_t which) {
  const Contender& contender = contenders_[which];
  for (int tries = 1;; ++tries) {
    PACELINE_TRY_ASSIGN(const Measured measured,
                        run_contender(contender, site_, orders_, [](const probe::Row&) {}));
    if (measured.exit_code == 0) {
      keep(which, measured.rows);
      return 0;
    }
    const bool hung = measured.exit_code == kExitTimeout;
    if (hung) ++hangs_;
    if (hung && which > 0 && tries < kTries) continue;
    warn_(contender.name + (hung ? " has hung" : " has failed") +
          (measured.errors.empty() ? "" : "; it said:\n" + measured.errors));
    return measured.exit_code;
  }
}

void Rounds::keep(std::size_t which, const std::vector<probe::Row>& rows) {
  for (std::size_t size = 0; size < rows.size(); ++size)
    series_[which].rows[size].push_back(rows[size]);
}

// On a terminal a line that is written anew, elsewhere one now and then.
void Rounds::say_progress(int round) const {
  const std::string text =
      "paceline: round " + std::to_string(round + 1) + " of " + std::to_string(rounds_);
  const TimePoint now = clock_.now();
  if (::isatty(STDERR_FILENO) == 1) {
    std::fprintf(stderr, "\r%s\033[K", text.c_str());
  } else if (now - said_ >= kQuiet) {
    said_ = now;
    std::fprintf(stderr, "%s, %s\n", text.c_str(), seconds_text(now - begin_).c_str());
  }
}

std::string Rounds::summary() const {
  std::string text = "# " + std::to_string(rounds_) + " rounds in turn, " +
                     seconds_text(clock_.now() - begin_) + "; 'x ours': how many times as long";
  if (hangs_ > 0) text += "; runs of a peer that hung and were repeated: " + std::to_string(hangs_);
  return text + "\n";
}

}  // namespace paceline::launcher
