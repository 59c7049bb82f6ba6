// The service with real clients over its Unix socket. The loop of the head runs in a thread.
#include "launcher/control/control_service.h"

#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/control/control_files.h"
#include "launcher/control/job_client.h"
#include "launcher/control/snapshot.h"
#include "launcher/system/mailbox.h"
#include "tests/harness/collecting_log.h"
#include "tests/harness/file_tree.h"
#include "tests/unit/launcher/small_job.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

class ControlServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string off = control_is_off(); !off.empty()) GTEST_SKIP() << off;
    service_ =
        ControlService::start(
            loop_, {.folder = folder_.root(),
                    .user = ::geteuid(),
                    .log = log_,
                    .snapshot =
                        [this] {
                          return snapshot_of(
                              {.id = "3f2a000000000000", .command = "./train", .hosts = {"a"}},
                              job_ ? &job_->state() : nullptr, loop_.clock().now());
                        },
                    .signalled =
                        [this](const SignalCame& came) {
                          came_.push_back(came);
                          return Status();
                        },
                    .take_stacks =
                        [this](const std::vector<std::uint32_t>& ranks, RankStacksTaken done) {
                          wanted_ = ranks;
                          stacks_taken_ = std::move(done);
                        }})
            .value();
    head_ = std::thread([this] { EXPECT_TRUE(loop_.run().ok()); });
  }
  void TearDown() override {
    if (!head_.joinable()) return;
    letters_->sender().post([this] { loop_.stop(); });
    head_.join();
    service_.reset();
    letters_.reset();
  }

  // In the thread of the loop; returns when it is done.
  void in_head(const std::function<void()>& work) {
    std::promise<void> done;
    letters_->sender().post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void begin() {
    in_head([this] { job_.emplace(service_.get()); });
  }
  JobClient client() { return JobClient::connect(folder_.root()).value(); }

  const SystemClock clock_;
  EventLoop loop_{clock_};
  const testing::FileTree folder_;
  const std::shared_ptr<testing::CollectingLog> log_ = std::make_shared<testing::CollectingLog>();
  std::unique_ptr<Mailbox> letters_ = Mailbox::make(loop_).value();
  std::optional<SmallJob> job_;
  std::vector<SignalCame> came_;
  std::vector<std::uint32_t> wanted_;  // ranks whose stacks were asked for
  RankStacksTaken stacks_taken_;
  std::unique_ptr<ControlService> service_;
  std::thread head_;
};

TEST_F(ControlServiceTest, DescribesAJobBeforeItsStartAndAfterwards) {
  JobClient one = client();
  EXPECT_EQ(one.describe().value().phase(), v1::PHASE_STARTING);
  begin();
  in_head([this] { job_->started(0, 0, 4711); });
  const v1::Snapshot snapshot = one.describe().value();
  EXPECT_EQ(snapshot.phase(), v1::PHASE_RUNNING);
  EXPECT_EQ(snapshot.ranks(0).pid(), 4711);
  const std::string json = one.to_json(snapshot).value();
  EXPECT_NE(json.find("\"phase\":\"PHASE_RUNNING\""), std::string::npos) << json;
}

TEST_F(ControlServiceTest, AWatcherSeesTheFirstStateAndTheLast) {
  begin();
  JobClient one = client();
  std::vector<v1::Phase> phases;
  const Status ended = one.watch([&](const v1::Snapshot& snapshot) {
    phases.push_back(snapshot.phase());
    if (phases.size() == 1) {
      in_head([this] {
        for (const std::uint32_t rank : {0u, 1u}) job_->ended(0, rank, 0);
        job_->ended(1, 2, 0);
        job_->finished(1);
        job_->finished(0);
      });
    }
    return true;
  });
  EXPECT_TRUE(ended.ok()) << ended.text();
  EXPECT_EQ(phases.front(), v1::PHASE_RUNNING);
  EXPECT_EQ(phases.back(), v1::PHASE_ENDED);
  EXPECT_EQ(one.describe().value().exit_code(), 0);
}

TEST_F(ControlServiceTest, ManyChangesAreFewSnapshots) {
  begin();
  JobClient one = client();
  int snapshots = 0;
  const auto begin = clock_.now();
  const Status ended = one.watch([&](const v1::Snapshot&) {
    for (int changes = 0; changes < 100; ++changes) in_head([this] { job_->started(0, 0, 1); });
    return ++snapshots < 4;
  });
  EXPECT_TRUE(ended.ok()) << ended.text();
  EXPECT_GE(clock_.now() - begin, 2 * ControlService::kMinPeriod);
}

class StacksServiceTest : public ControlServiceTest {
 protected:
  // Asks for the stacks of rank 1, and returns when the head was asked.
  std::future<Result<v1::Snapshot>> ask() {
    begin();
    auto asked = std::async(std::launch::async, [this] {
      JobClient one = client();
      const std::vector<std::uint32_t> ranks{1};
      return one.describe(ranks);
    });
    for (bool is_wanted = false; !is_wanted;) in_head([&] { is_wanted = !wanted_.empty(); });
    return asked;
  }
};

TEST_F(StacksServiceTest, AreAnsweredOnceTheyAreThereWhileOthersAreAnsweredAtOnce) {
  auto asked = ask();
  EXPECT_EQ(wanted_, std::vector<std::uint32_t>{1});
  EXPECT_EQ(client().describe().value().phase(), v1::PHASE_RUNNING);
  v1::Process process;
  process.set_waits_for("write to descriptor 1, a pipe");
  in_head([&] { stacks_taken_(StacksByRank{{1, {process}}, {9, {process}}}); });
  const Result<v1::Snapshot> snapshot = asked.get();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().text();
  ASSERT_EQ(snapshot->ranks(1).processes_size(), 1);
  EXPECT_EQ(snapshot->ranks(1).processes(0).waits_for(), process.waits_for());
  EXPECT_EQ(snapshot->ranks(0).processes_size(), 0);
}

TEST_F(StacksServiceTest, ThatCannotBeTakenAreAnError) {
  auto asked = ask();
  in_head([this] {
    stacks_taken_(Status(Code::kInvalidArgument, Scope::kOperation, "the job has no rank 1"));
  });
  const Result<v1::Snapshot> snapshot = asked.get();
  EXPECT_EQ(snapshot.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(snapshot.status().text(), "the job has no rank 1");
}

TEST_F(StacksServiceTest, OfAJobThatEndsAreNotWaitedFor) {
  auto asked = ask();
  in_head([this] {
    for (const std::uint32_t rank : {0u, 1u}) job_->ended(0, rank, 0);
    job_->ended(1, 2, 0);
    job_->finished(1);
    job_->finished(0);
  });
  EXPECT_EQ(asked.get().value().phase(), v1::PHASE_ENDED);
  in_head([this] { stacks_taken_(StacksByRank{}); });
}

TEST_F(StacksServiceTest, OfAServiceThatGoesAreAnError) {
  auto asked = ask();
  in_head([this] { service_.reset(); });
  EXPECT_EQ(asked.get().status().code(), Code::kUnavailable);
}

TEST_F(ControlServiceTest, CancelNamesTheClient) {
  JobClient one = client();
  v1::CancelRequest request;
  request.set_client("a\x1b[2J scheduler");
  EXPECT_TRUE(one.cancel(request).ok());
  request.set_now(true);
  EXPECT_TRUE(one.cancel(request).ok());
  ASSERT_EQ(came_.size(), 2u);
  EXPECT_EQ(came_[0].signal, SIGTERM);
  EXPECT_EQ(came_[0].why, "cancelled by a?[2J scheduler");
  EXPECT_FALSE(came_[0].kills);
  EXPECT_EQ(came_[1].signal, SIGINT);
  EXPECT_TRUE(came_[1].kills);
}

TEST_F(ControlServiceTest, SignalsOfTheHeadItselfAreRefused) {
  const ControlFolder folder = ControlFolder::open(folder_.root()).value();
  const auto one = load_control_module().value()->connect(start_connect(folder.socket()).value());
  const auto send = [&one](int signal) {
    v1::SignalRequest request;
    request.set_signal(signal);
    return one->call(ControlMethod::kSignal, request.SerializeAsString(), JobClient::kPatience)
        .status();
  };
  for (const int signal : {0, -1, SIGKILL, SIGSTOP, SIGTSTP, SIGSEGV, 1000}) {
    const Status refused = send(signal);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << signal;
    EXPECT_NE(refused.text().find("use SIGINT"), std::string::npos) << refused.text();
  }
  EXPECT_TRUE(send(SIGUSR1).ok());
  ASSERT_EQ(came_.size(), 1u);
  EXPECT_EQ(came_[0].signal, SIGUSR1);
}

TEST_F(ControlServiceTest, TheNumberOfClientsIsLimited) {
  std::vector<UniqueFd> connections;
  const ControlFolder folder = ControlFolder::open(folder_.root()).value();
  for (std::size_t i = 0; i < ControlListener::kMaxClients; ++i)
    connections.push_back(start_connect(folder.socket()).value());
  JobClient late = client();
  EXPECT_EQ(late.describe().status().code(), Code::kUnavailable);
  connections.clear();
  const Deadline deadline = Deadline::after(clock_, std::chrono::seconds(20));
  bool served = false;
  while (!served && !deadline.passed(clock_.now())) served = client().describe().ok();
  EXPECT_TRUE(served);
  EXPECT_GT(log_->count("clients already"), 0u);
}

// A client that connects, and neither sends nor reads, is closed with the service.
TEST_F(ControlServiceTest, ASilentClientDoesNotHoldTheEndUp) {
  const ControlFolder folder = ControlFolder::open(folder_.root()).value();
  const UniqueFd silent = start_connect(folder.socket()).value();
  EXPECT_TRUE(client().describe().ok());
  const TimePoint begin = clock_.now();
  in_head([this] { service_.reset(); });
  EXPECT_LT(clock_.now() - begin, std::chrono::seconds(5));
}

TEST(JobClientTest, AJobWithoutTheServiceIsNamed) {
  const testing::FileTree empty;
  const Status missing = JobClient::connect(empty.root()).status();
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_NE(missing.text().find("older"), std::string::npos) << missing.text();
}

}  // namespace
}  // namespace paceline::launcher
