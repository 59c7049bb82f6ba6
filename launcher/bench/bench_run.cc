#include "launcher/bench/bench_run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "launcher/bench/captured_run.h"
#include "launcher/head/exit_code.h"
#include "launcher/process/system.h"

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

/// A folder in memory, removed with all that was left in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    std::string path = "/dev/shm/paceline-bench-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return system_error("make a folder in /dev/shm");
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code left;  // there is nobody to tell
    if (!path_.empty()) std::filesystem::remove_all(path_, left);
  }

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

Duration patience_with(const probe::Orders& orders, int ranks, std::size_t row) {
  const std::vector<std::size_t> sizes = orders.sizes();
  const std::size_t bytes = sizes[std::min(row, sizes.size() - 1)] * kLeastCalls;
  const std::size_t touched = row == 0 ? 3 * sizes.back() : 0;
  const auto seconds = (bytes + touched) * static_cast<std::size_t>(ranks) / kBytesPerSecond;
  return (row == 0 ? kStart : Duration::zero()) + kLeast +
         4 * std::chrono::milliseconds(orders.time_ms) + std::chrono::seconds(seconds);
}

Result<Measured> run_contender(const Contender& contender, const BenchSite& site,
                               probe::Orders orders,
                               const std::function<void(const probe::Row&)>& on_row) {
  PACELINE_TRY_ASSIGN(const PlaceToMeet meeting, PlaceToMeet::make());
  PACELINE_TRY_ASSIGN(const PlaceToMeet raw, PlaceToMeet::make());
  orders.meeting = meeting.path();
  if (contender.is_raw) orders.raw = raw.path();
  CapturedProgram program{.words = contender.launcher,
                          .environment = contender.environment,
                          .shows_errors = contender.shows_errors};
  std::optional<ScratchFolder> scratch;
  if (!contender.scratch.empty()) {
    PACELINE_TRY_ASSIGN(ScratchFolder folder, ScratchFolder::make());
    scratch.emplace(std::move(folder));
  }
  for (const std::string& variable : contender.scratch)
    program.environment.emplace_back(variable, scratch->path());
  for (std::string& word : probe::to_words(orders)) program.words.push_back(std::move(word));
  Measured measured;
  const auto take_line = [&](const std::string& line) {
    if (const auto row = probe::parse_row(line)) {
      measured.rows.push_back(*row);
      on_row(*row);
    }
    return patience_with(orders, site.ranks, measured.rows.size());
  };
  PACELINE_TRY_ASSIGN(CapturedEnd end,
                      run_captured(program, patience_with(orders, site.ranks, 0), take_line));
  measured.exit_code = end.wait_status ? exit_code_of(*end.wait_status) : kExitTimeout;
  if (measured.exit_code == 0 && measured.rows.size() != orders.sizes().size())
    measured.exit_code = kExitLauncher;
  measured.errors = std::move(end.errors);
  return measured;
}

}  // namespace paceline::launcher
