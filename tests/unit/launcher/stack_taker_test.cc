// The process that takes stacks, with processes that spin, sleep, are stopped or write to a pipe
// that nobody reads.
#include "launcher/agent/stack_taker.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "launcher/agent/stack_service.h"
#include "launcher/proto/job_v1.pb.h"
#include "launcher/stacks/bounded_child.h"
#include "launcher/stacks/native_stacks.h"
#include "launcher/stacks/process_texts.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/system.h"
#include "tests/unit/launcher/loop_until.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A process like a rank: it leads its group.
class LookedAt {
 public:
  explicit LookedAt(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) {
      ::setpgid(pid_, pid_);
      return;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    ::_exit(7);
  }
  ~LookedAt() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  char state() const {
    const auto stat = parse_stat(read_file("/proc/" + std::to_string(pid_) + "/stat"));
    return stat ? stat->state : 'X';
  }

 private:
  const pid_t pid_;
};

[[gnu::noinline]] void spin_for_stack_test() {
  volatile unsigned steps = 0;
  for (;;) steps = steps + 1;
}

class StackTakerTest : public ::testing::Test {
 protected:
  StackTakerTest() {
    ::signal(SIGPIPE, SIG_IGN);  // as in an agent
    taker_->open(loop_, [this](const messages::StacksTaken& taken) { taken_.push_back(taken); });
  }
  bool until(const std::function<bool()>& holds, Duration patience = seconds(20)) {
    return loop_until(loop_, holds, patience);
  }
  static void add(messages::LookAtRanks& request, std::uint32_t rank, pid_t pid) {
    messages::LookAtRank& look = *request.add_ranks();
    look.set_rank(rank);
    look.set_pid(pid);
    if (const auto process = identify(pid)) look.set_start_time(process->start_time);
  }
  v1::Process look_at(pid_t pid) {
    messages::LookAtRanks request;
    request.set_number(++number_);
    add(request, 3, pid);
    return look(request).at(0);
  }
  // The first process of each rank.
  std::vector<v1::Process> look(const messages::LookAtRanks& request) {
    taken_.clear();
    taker_->take(request);
    EXPECT_TRUE(until([this] { return !taken_.empty(); }));
    std::vector<v1::Process> processes;
    for (const messages::RankStacks& stacks : taken_.at(0).ranks()) {
      v1::Process& process = processes.emplace_back();
      EXPECT_TRUE(process.ParseFromString(stacks.processes(0)));
    }
    return processes;
  }
  static bool has_native() { return load_stacks_module().ok(); }

  SystemClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<StackTaker> taker_ = StackTaker::send([] {}).value();
  std::vector<messages::StacksTaken> taken_;
  std::int64_t number_ = 0;
};

TEST_F(StackTakerTest, ASpinningProcessIsNamedWithItsFunctionAndSpinsOn) {
  const LookedAt process(spin_for_stack_test);
  const v1::Process seen = look_at(process.pid());
  EXPECT_EQ(seen.pid(), process.pid());
  ASSERT_EQ(seen.threads_size(), 1);
  EXPECT_EQ(seen.threads(0).state(), "running");
  EXPECT_EQ(seen.waits_for(), "");
  if (has_native()) {
    ASSERT_GT(seen.threads(0).frames_size(), 0) << seen.failure();
    EXPECT_NE(seen.threads(0).frames(0).find("spin_for_stack_test()"), std::string::npos)
        << seen.threads(0).frames(0);
  } else {
    EXPECT_NE(seen.failure(), "");
  }
  EXPECT_EQ(process.state(), 'R');
}

TEST_F(StackTakerTest, AStoppedProcessStaysStopped) {
  const LookedAt process(spin_for_stack_test);
  ::kill(process.pid(), SIGSTOP);
  ASSERT_TRUE(until([&] { return process.state() == 'T'; }));
  const v1::Process seen = look_at(process.pid());
  EXPECT_EQ(seen.threads(0).state(), "stopped");
  EXPECT_NE(seen.waits_for().find("SIGCONT"), std::string::npos);
  if (has_native()) {
    EXPECT_GT(seen.threads(0).frames_size(), 0) << seen.failure();
  }
  EXPECT_EQ(process.state(), 'T');
  ::kill(process.pid(), SIGCONT);
  EXPECT_TRUE(until([&] { return process.state() == 'R'; }));
}

TEST_F(StackTakerTest, ABlockedWriteNamesItsDescriptor) {
  Pipe pipe = make_pipe().value();
  const LookedAt process([&pipe] {
    const std::string text(1 << 20, 'x');
    ::dup2(pipe.write_end.get(), 1);
    [[maybe_unused]] const bool written = write_all(1, text);
  });
  ASSERT_TRUE(until([&] { return process.state() == 'S'; }));
  v1::Process seen = look_at(process.pid());
  EXPECT_EQ(seen.threads(0).state(), "sleeping");
  if (!seen.waits_for().empty()) {
    EXPECT_EQ(seen.waits_for(), "write to descriptor 1, a pipe");
  }
  // The write goes on as if nothing had been.
  pipe.write_end.reset();
  std::size_t bytes = 0;
  for (char part[65536]; bytes < (1 << 20);) {
    const ssize_t got = ::read(pipe.read_end.get(), part, sizeof part);
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  EXPECT_EQ(bytes, std::size_t{1} << 20);
}

TEST_F(StackTakerTest, AnotherProcessWithItsNumberIsLeftAlone) {
  const LookedAt process(spin_for_stack_test);
  messages::LookAtRanks request;
  add(request, 0, process.pid());
  request.mutable_ranks(0)->set_start_time(request.ranks(0).start_time() + 1);
  add(request, 1, 0);
  const auto seen = look(request);
  EXPECT_EQ(seen.at(0).failure(), "it has ended");
  EXPECT_EQ(seen.at(1).failure(), "it does not run");
}

TEST_F(StackTakerTest, ADebuggerIsNamed) {
  const LookedAt process(spin_for_stack_test);
  if (!has_native()) GTEST_SKIP() << load_stacks_module().status().text();
  auto debugger = BoundedChild::start([&](BoundedChild::Send send) {
    send(::ptrace(PTRACE_SEIZE, process.pid(), nullptr, nullptr) == 0 ? "yes" : "no");
    ::pause();
  });
  std::vector<std::unique_ptr<BoundedChild>> children;
  children.push_back(*std::move(debugger));
  BoundedChild::wait_for(children, clock_, Deadline::after(clock_, milliseconds(300)));
  ASSERT_EQ(children[0]->said(), "yes");
  const v1::Process seen = look_at(process.pid());
  EXPECT_NE(seen.failure().find("a debugger traces it: process "), std::string::npos)
      << seen.failure();
}

TEST_F(StackTakerTest, ManyRequestsAreDoneInTurnAndTooManyAreRefused) {
  const LookedAt process(spin_for_stack_test);
  for (int i = 0; i < 6; ++i) {
    messages::LookAtRanks request;
    request.set_number(i);
    add(request, 0, process.pid());
    taker_->take(request);
  }
  ASSERT_TRUE(until([this] { return taken_.size() == 6; }));
  std::vector<std::int64_t> numbers;
  for (const messages::StacksTaken& taken : taken_) numbers.push_back(taken.number());
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{4, 5, 0, 1, 2, 3}));
}

TEST_F(StackTakerTest, WithoutItsProcessRequestsAreAnsweredInWords) {
  const LookedAt process(spin_for_stack_test);
  ::kill(taker_->pid(), SIGKILL);
  EXPECT_EQ(look_at(process.pid()).failure(), "the process that takes stacks has ended");
  EXPECT_EQ(look_at(process.pid()).failure(), "the process that takes stacks has ended");
}

TEST_F(StackTakerTest, AProcessThatDoesNotAnswerIsNotWaitedFor) {
  const LookedAt process(spin_for_stack_test);
  ::kill(taker_->pid(), SIGSTOP);
  const TimePoint begin = clock_.now();
  EXPECT_EQ(look_at(process.pid()).failure(), "the process that takes stacks has not answered");
  EXPECT_LT(clock_.now() - begin, seconds(5));
  EXPECT_EQ(look_at(process.pid()).failure(), "the process that takes stacks does not answer");
}

// ---- Work with a deadline --------------------------------------------------------------------

TEST(BoundedChild, WhatHangsKeepsWhatItSaid) {
  const SystemClock clock;
  std::vector<std::unique_ptr<BoundedChild>> children;
  children.push_back(BoundedChild::start([](BoundedChild::Send send) {
                       send("first");
                       send("second");
                       for (;;) ::pause();
                     }).value());
  children.push_back(BoundedChild::start([](BoundedChild::Send send) {
                       send(std::string(1 << 20, 'x'));
                     }).value());
  children.push_back(BoundedChild::start([](BoundedChild::Send) { std::abort(); }).value());
  const TimePoint begin = clock.now();
  BoundedChild::wait_for(children, clock, Deadline::after(clock, milliseconds(500)));
  EXPECT_EQ(children[0]->said(), "second");
  EXPECT_FALSE(children[0]->is_done());
  EXPECT_EQ(children[1]->said()->size(), std::size_t{1} << 20);
  EXPECT_TRUE(children[1]->is_done());
  EXPECT_FALSE(children[2]->is_done());
  children.clear();
  EXPECT_LT(clock.now() - begin, seconds(5));
}

// ---- What a rank is given --------------------------------------------------------------------

TEST(PythonHook, IsAnArchiveThatNobodyChanges) {
  const UniqueFd hook = make_python_hook().value();
  std::string bytes(1 << 16, '\0');
  const ssize_t size = ::pread(hook.get(), bytes.data(), bytes.size(), 0);
  ASSERT_GT(size, 0);
  bytes.resize(static_cast<std::size_t>(size));
  EXPECT_TRUE(bytes.starts_with("PK\x03\x04"));
  EXPECT_NE(bytes.find(kPythonHook), bytes.npos);
  EXPECT_LT(::pwrite(hook.get(), "x", 1, 0), 0);
}

TEST(PythonHook, ComesBeforeTheUsersOwnFolders) {
  EXPECT_EQ(python_path(7, nullptr), "/proc/self/fd/7");
  EXPECT_EQ(python_path(7, ""), "/proc/self/fd/7");
  EXPECT_EQ(python_path(7, "/a:/b"), "/proc/self/fd/7:/a:/b");
}

class StackServiceTest : public ::testing::Test {
 protected:
  StackServiceTest() {
    start_.set_job_id("3f2a");
    start_.set_python_hooks(true);
    start_.add_ranks(4);
    messages::App& app = *start_.add_apps();
    app.set_ranks(1);
    messages::Variable& variable = *app.add_environment();
    variable.set_name("PYTHONPATH");
    variable.set_value("/users/own");
  }
  std::string value_in(const char* name) {
    const char* const value =
        value_of(name, rank_.variables(), [](const char*) -> const char* { return nullptr; });
    return value != nullptr ? value : "";
  }

  StackService service_;
  messages::Start start_;
  RankEquipment rank_;
};

TEST_F(StackServiceTest, GivesEachRankAMemoryAndTheHook) {
  ASSERT_TRUE(service_.prepare(start_).ok());
  ASSERT_TRUE(service_.equip(0, rank_).ok());
  EXPECT_TRUE(value_in("PYTHONPATH").ends_with(":/users/own"));
  messages::RankStarted started;
  started.set_rank(4);
  started.set_pid(::getpid());
  service_.started(started);
  messages::TakeStacks wanted;
  wanted.set_number(9);
  wanted.add_ranks(4);
  wanted.add_ranks(5);
  const messages::LookAtRanks request = service_.look_for(wanted, true);
  EXPECT_EQ(request.number(), 9);
  EXPECT_EQ(request.ranks(0).pid(), ::getpid());
  EXPECT_EQ(value_in(kPythonHookVariable), python_hook_value(request.ranks(0).memory()));
  EXPECT_EQ(request.ranks(1).pid(), 0);
}

TEST_F(StackServiceTest, WithoutHooksARankIsLeftAsItIs) {
  start_.set_python_hooks(false);
  ASSERT_TRUE(service_.prepare(start_).ok());
  ASSERT_TRUE(service_.equip(0, rank_).ok());
  EXPECT_EQ(rank_.variables().size(), 0);
  EXPECT_TRUE(rank_.take_descriptors().empty());
}

}  // namespace
}  // namespace paceline::launcher
