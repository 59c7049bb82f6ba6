#include "tests/mixed/world_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/status.h>

#include "comm/base/assert.h"
#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "tests/mixed/board.h"
#include "tests/mixed/rank_process.h"

namespace paceline::testing::mixed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Later than that an error is late. A rank that has ended is noticed within milliseconds, but other
// programs use the machine too.
constexpr milliseconds kLate{8000};
// More than a timeout of the library: a world that takes longer hangs.
constexpr seconds kPatience{90};
constexpr seconds kReaping{10};

Board* map_board(int file) {
  void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  PACELINE_ASSERT(memory != MAP_FAILED);
  return static_cast<Board*>(memory);
}

// A file, since the ranks of `paceline run` inherit nothing.
class SharedBoard {
 public:
  SharedBoard() {
    const UniqueFd file(::mkstemp(name_));
    PACELINE_ASSERT(file && ::ftruncate(file.get(), sizeof(Board)) == 0);
    board_ = new (map_board(file.get())) Board;
  }
  ~SharedBoard() {
    ::munmap(board_, sizeof(Board));
    ::unlink(name_);
  }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board& operator*() const { return *board_; }
  const char* name() const { return name_; }

 private:
  char name_[32] = "/tmp/paceline-mixed-XXXXXX";
  Board* board_;
};

[[noreturn]] void launch(const WorldScript& script, const char* board, int output) {
  const char* const named = std::getenv("PACELINE_BUILD");
  const std::string paceline =
      std::string(named != nullptr ? named : "build/release") + "/bin/paceline";
  const std::string ranks = std::to_string(script.ranks), seed = std::to_string(script.seed);
  const std::string acts = std::to_string(script.acts);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execl(paceline.c_str(), "paceline", "run", "-n", ranks.c_str(), "--grace", "1", "--",
          program.c_str(), kRankWord, seed.c_str(), acts.c_str(), board, nullptr);
  std::perror(paceline.c_str());
  ::_exit(127);
}

// Those of a world, in one process group with the children that they have left.
class Processes {
 public:
  Processes(const WorldScript& script, const SharedBoard& board) : output_(::tmpfile()) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t judge = ::getpid();
    const int started = script.is_launched ? 1 : script.processes();
    for (int process = 0; process < started; ++process) {
      const pid_t pid = ::fork();
      PACELINE_ASSERT(pid >= 0);
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::setpgid(0, group());
        if (::getppid() != judge) ::_exit(1);
        if (script.is_launched) launch(script, board.name(), ::fileno(output_));
        run_process(script, process, *board);
      }
      ::setpgid(pid, group());
      pids_.push_back(pid);
    }
    statuses_.assign(pids_.size(), kRunning);
  }
  ~Processes() { std::fclose(output_); }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  static constexpr int kRunning = -1;

  void wait() {
    const SystemClock clock;
    const Deadline deadline = Deadline::after(clock, kPatience);
    while (std::ranges::count(statuses_, kRunning) > 0 && !deadline.passed(clock.now())) {
      for (std::size_t i = 0; i < pids_.size(); ++i)
        if (statuses_[i] == kRunning && ::waitpid(pids_[i], &statuses_[i], WNOHANG) == 0)
          statuses_[i] = kRunning;
      ::poll(nullptr, 0, 1);
    }
  }
  // Children that a fork has left end here; those of `paceline run` have ended with it. False if
  // some process is left.
  bool reap() {
    ::kill(-group(), SIGKILL);
    const SystemClock clock;
    const Deadline deadline = Deadline::after(clock, kReaping);
    pid_t found = 0;
    while ((found = ::waitpid(-1, nullptr, WNOHANG)) >= 0 && !deadline.passed(clock.now()))
      if (found == 0) ::poll(nullptr, 0, 1);
    return found < 0;
  }
  int status(int process) const { return statuses_[static_cast<std::size_t>(process)]; }
  // Of `paceline run`.
  std::string output() const {
    std::string text(4096, '\0');
    std::rewind(output_);
    text.resize(std::fread(text.data(), 1, text.size(), output_));
    return text;
  }

 private:
  pid_t group() const { return pids_.empty() ? 0 : pids_.front(); }

  FILE* const output_;
  std::vector<pid_t> pids_;
  std::vector<int> statuses_;
};

class Judge {
 public:
  Judge(const WorldScript& script, const Board& board) : script_(script), board_(board) {}

  WorldOutcome judge(const Processes& processes) {
    if (script_.is_launched) {
      judge_launcher(processes.status(0), processes.output());
      // The launcher has ended the others.
      if (script_.ending.is_of_process()) return std::move(outcome_);
    }
    for (int process = 0; process < script_.processes() && !script_.is_launched; ++process)
      judge_process(process, processes.status(process));
    for (int rank = 0; rank < script_.ranks; ++rank)
      if (!is_gone(rank)) judge_rank(rank);
    return std::move(outcome_);
  }

 private:
  // With its process.
  bool is_gone(int rank) const {
    if (!script_.ending.is_of_process()) return false;
    return std::ranges::count(script_.victims(script_.ending.lane), rank) > 0;
  }
  void note(const std::string& what) { outcome_.wrong += "  " + what + "\n"; }

  void judge_launcher(int status, const std::string& output) {
    const Ending& ending = script_.ending;
    const int code = !ending.is_of_process()                ? 0
                     : ending.kind == Ending::Kind::kKilled ? 128 + SIGKILL
                                                            : kExitCode;
    const std::string culprit = "paceline: rank " + std::to_string(ending.rank) + " on host ";
    const bool names = !ending.is_of_process() || output.find(culprit) != std::string::npos;
    if (names && WIFEXITED(status) && WEXITSTATUS(status) == code) return;
    note("paceline run has wait status " + std::to_string(status) + " and says:\n" + output);
  }

  void judge_process(int process, int status) {
    const std::string who = "process " + std::to_string(process);
    const Ending& ending = script_.ending;
    const auto place = static_cast<std::size_t>(ending.rank);
    const bool is_struck = ending.is_of_process() && script_.process_of[place] == process;
    if (status == Processes::kRunning) return note(who + " is still running");
    if (is_struck && ending.kind == Ending::Kind::kKilled) return;
    const int code = is_struck ? kExitCode : 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
      note(who + " has wait status " + std::to_string(status));
  }

  void judge_rank(int rank) {
    const RankReport& report = board_.ranks[static_cast<std::size_t>(rank)];
    const std::string who = "rank " + std::to_string(rank);
    outcome_.operations += report.operations;
    if (report.wrong.front() != '\0') note(who + ": " + report.wrong.data());
    if (!report.has_ended) note(who + " has not ended");
    for (std::size_t lane = 0; lane < script_.lanes.size(); ++lane) {
      const std::string said = judge_lane(rank, lane, report.lanes[lane]);
      if (!said.empty()) note(who + ", lane " + std::to_string(lane) + " " + said);
    }
  }

  std::string judge_lane(int rank, std::size_t lane, const LaneReport& report) {
    if (!report.has_ended) return "hangs in act " + std::to_string(report.act);
    const std::vector<int> members = script_.members(lane, rank);
    const std::vector<int> victims = script_.victims(lane);
    const bool is_victim = std::ranges::count(victims, rank) > 0;
    const bool is_struck = std::ranges::any_of(
        members, [&](int member) { return std::ranges::count(victims, member) > 0; });
    const std::string text = ": " + std::string(report.text.data());
    const auto code = static_cast<Code>(report.code);
    if (!is_struck || is_victim) return code == Code::kOk ? "" : "failed" + text;
    if (code == Code::kOk) {
      const bool is_left_in_the_middle =
          lane == script_.ending.lane && std::ranges::count(members, script_.ending.rank) > 0;
      return is_left_in_the_middle ? "ended well" : "";
    }
    if (code != Code::kPeerLost && code != Code::kCancelled) return "has a wrong code" + text;
    if (report.culprit < 0 || report.culprit >= static_cast<int>(members.size()) ||
        std::ranges::count(victims, members[static_cast<std::size_t>(report.culprit)]) == 0)
      return "blames a wrong rank" + text;
    outcome_.longest_ms = std::max(outcome_.longest_ms, report.late_ms);
    return report.late_ms <= kLate.count() ? "" : "is late" + text;
  }

  const WorldScript& script_;
  const Board& board_;
  WorldOutcome outcome_;
};

}  // namespace

[[noreturn]] void run_launched_rank(const WorldScript& script, const char* board) {
  const UniqueFd file(::open(board, O_RDWR | O_CLOEXEC));
  const char* const rank = std::getenv("RANK");
  PACELINE_ASSERT(file && rank != nullptr);
  run_process(script, std::atoi(rank), *map_board(file.get()));
}

WorldOutcome run_world(const WorldScript& script) {
  const SharedBoard board;
  Processes processes(script, board);
  processes.wait();
  WorldOutcome outcome = Judge(script, *board).judge(processes);
  if (!processes.reap()) outcome.wrong += "  some processes are left\n";
  return outcome;
}

}  // namespace paceline::testing::mixed
