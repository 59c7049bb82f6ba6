#include "launcher/tools/measure/bench/bench_run.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/system.h"
#include "launcher/tools/measure/captured_job.h"
#include "launcher/tools/measure/captured_run.h"

namespace paceline::launcher {
namespace {

// A run that takes longer than this for a row is not slow but hung: the slowest peer that was seen
// moved 80 MB/s, and took 5 ms for the shortest message.
constexpr Duration kStart = std::chrono::seconds(10);
constexpr Duration kLeast = std::chrono::seconds(20);
constexpr std::size_t kBytesPerSecond = 50'000'000;
constexpr std::size_t kLeastCalls = 30;

// Memory that the ranks find by a path, and that has gone when this process has.
class PlaceToMeet {
 public:
  static Result<PlaceToMeet> make() {
    UniqueFd fd(::memfd_create("paceline-bench", MFD_CLOEXEC));
    if (!fd) return system_error("make memory that the ranks share");
    return PlaceToMeet(std::move(fd));
  }

  std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
  }

 private:
  explicit PlaceToMeet(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// What a contender finds its ranks and others by, for as long as it runs.
struct Places {
  PlaceToMeet meeting;
  PlaceToMeet raw;
};

// A job of Paceline's, or another launcher, with the orders at its end.
CapturedProgram captured_of(const Contender& contender, const CapturedProgram::Words& orders) {
  const auto* const other = std::get_if<CapturedProgram::Words>(&contender.start);
  if (other == nullptr) return captured_job(std::get<JobSpec>(contender.start), orders);
  CapturedProgram::Words words = *other;
  words.insert(words.end(), orders.begin(), orders.end());
  return {.runs = std::move(words), .environment = {}};
}

class BenchRun {
 public:
  BenchRun(std::span<const Contender> contenders, const BenchSite& site,
           const probe::Orders& orders, const OnRow& on_row)
      : contenders_(contenders),
        site_(site),
        orders_(orders),
        sizes_(orders.sizes()),
        on_row_(on_row),
        measured_(contenders.size()) {}

  Result<std::vector<Measured>> run() {
    PACELINE_TRY_ASSIGN(const PlaceToMeet turns, PlaceToMeet::make());
    std::vector<CapturedProgram> programs;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      PACELINE_TRY_ASSIGN(CapturedProgram program, program_of(i, turns));
      programs.push_back(std::move(program));
    }
    PACELINE_TRY_ASSIGN(std::vector<CapturedEnd> ends,
                        run_captured(programs, patience_to_start(orders_, site_.ranks),
                                     [this](std::size_t which, const std::string& line) {
                                       return take(which, line);
                                     }));
    for (std::size_t i = 0; i < ends.size(); ++i) {
      measured_[i].errors = std::move(ends[i].errors);
      if (ends[i].wait_status) measured_[i].exit_code = code_of(*ends[i].wait_status, i);
    }
    if (!anybody_failed()) blame_the_silent();
    return std::move(measured_);
  }

 private:
  bool in_turn() const { return contenders_.size() > 1; }
  std::size_t rows_of_each() const {
    return sizes_.size() * static_cast<std::size_t>(orders_.rounds);
  }

  Result<CapturedProgram> program_of(std::size_t which, const PlaceToMeet& turns) {
    const Contender& contender = contenders_[which];
    PACELINE_TRY_ASSIGN(PlaceToMeet meeting, PlaceToMeet::make());
    PACELINE_TRY_ASSIGN(PlaceToMeet raw, PlaceToMeet::make());
    Places& places = places_.emplace_back(Places{std::move(meeting), std::move(raw)});
    probe::Orders orders = orders_;
    orders.meeting = places.meeting.path();
    if (contender.is_raw) orders.raw = places.raw.path();
    if (in_turn()) {
      orders.turns = turns.path();
      orders.contender = static_cast<int>(which);
      orders.contenders = static_cast<int>(contenders_.size());
    }
    CapturedProgram program = captured_of(contender, probe::to_words(orders));
    program.environment = contender.environment;
    program.shows_errors = contender.shows_errors;
    return program;
  }

  CapturedAnswer take(std::size_t which, const std::string& line) {
    std::vector<probe::Row>& rows = measured_[which].rows;
    const bool is_ready = in_turn() && line == probe::kReady;
    if (is_ready) ++ready_;
    if (const auto row = probe::parse_row(line)) {
      rows.push_back(*row);
      on_row_(which, *row);
    }
    const bool some_have_to_start = in_turn() && ready_ < contenders_.size();
    const std::size_t size = rows.size() / static_cast<std::size_t>(orders_.rounds);
    return {.silence = some_have_to_start ? patience_to_start(orders_, site_.ranks)
                                          : patience_at(orders_, site_.ranks,
                                                        sizes_[std::min(size, sizes_.size() - 1)]),
            .starts_next = is_ready};
  }

  // Whoever ends well has measured everything.
  int code_of(int wait_status, std::size_t which) const {
    const int code = exit_code_of(wait_status);
    return code == 0 && measured_[which].rows.size() != rows_of_each() ? kExitLauncher : code;
  }

  bool anybody_failed() const {
    return std::any_of(measured_.begin(), measured_.end(), [](const Measured& one) {
      return one.exit_code.has_value() && *one.exit_code != 0;
    });
  }

  // Of those that have not ended: who was starting, or has measured least.
  void blame_the_silent() {
    const auto has_ended = [](const Measured& one) { return one.exit_code.has_value(); };
    if (std::all_of(measured_.begin(), measured_.end(), has_ended)) return;
    if (in_turn() && ready_ < measured_.size()) {
      measured_[ready_].exit_code = kExitTimeout;
      return;
    }
    const auto silent = std::min_element(measured_.begin(), measured_.end(),
                                         [&](const Measured& one, const Measured& other) {
                                           return std::pair(has_ended(one), one.rows.size()) <
                                                  std::pair(has_ended(other), other.rows.size());
                                         });
    silent->exit_code = kExitTimeout;
  }

  const std::span<const Contender> contenders_;
  const BenchSite& site_;
  const probe::Orders& orders_;
  const std::vector<std::size_t> sizes_;
  const OnRow& on_row_;
  std::vector<Places> places_;
  std::size_t ready_ = 0;  // of those that measure in turn
  std::vector<Measured> measured_;
};

}  // namespace

Duration patience_at(const probe::Orders& orders, int ranks, std::size_t bytes) {
  const auto seconds = bytes * kLeastCalls * static_cast<std::size_t>(ranks) / kBytesPerSecond;
  return kLeast + 4 * std::chrono::milliseconds(orders.time_ms) + std::chrono::seconds(seconds);
}

// Buffers of the longest size are touched first.
Duration patience_to_start(const probe::Orders& orders, int ranks) {
  const std::vector<std::size_t> sizes = orders.sizes();
  const auto seconds = 3 * sizes.back() * static_cast<std::size_t>(ranks) / kBytesPerSecond;
  return kStart + std::chrono::seconds(seconds) + patience_at(orders, ranks, sizes.front());
}

Result<std::vector<Measured>> run_contenders(std::span<const Contender> contenders,
                                             const BenchSite& site, const probe::Orders& orders,
                                             const OnRow& on_row) {
  return BenchRun(contenders, site, orders, on_row).run();
}

}  // namespace paceline::launcher
