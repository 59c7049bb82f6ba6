// The examples of docs/extending.md.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/rank_service.h"
#include "launcher/system/system.h"
#include "tests/unit/launcher/scripted_head.h"

namespace paceline::launcher {
namespace {

// Counts ranks that have ended with an error.
class FailureCount final : public JobObserver {
 public:
  void saw(TimePoint, const JobEvent&, const JobState& state) override {
    failures_ = std::ranges::count_if(
        state.outcome.ends, [](const RankEnd& end) { return !succeeded(end.wait_status); });
  }
  std::ptrdiff_t failures() const { return failures_; }

 private:
  std::ptrdiff_t failures_ = 0;
};

// A rank that reads this pipe gets a byte for each rank of the host that has ended.
class EndPipe final : public RankService {
 public:
  Status prepare(const messages::Start&) override {
    PACELINE_TRY_ASSIGN(pipe_, make_pipe());
    return {};
  }
  Status equip(int, RankEquipment& rank) override {
    PACELINE_TRY_ASSIGN(UniqueFd end, duplicate(pipe_.read_end.get()));
    add_variable(rank.variables(), "END_PIPE_FD", rank.add(std::move(end)));
    return {};
  }
  void ended(const messages::ProcessExited&, messages::RankExited&) override {
    [[maybe_unused]] const ssize_t told = ::write(pipe_.write_end.get(), "x", 1);
  }

 private:
  Pipe pipe_;
};

using Extension = HeadTest;

TEST_F(Extension, AnObserverSeesEachEnd) {
  FailureCount count;
  observers_ = {&count};
  agent_.script = {exited(1, 7, 5), exited(0, 9, 4), exited(2, 0, 6)};
  EXPECT_EQ(run(3), 9);
  EXPECT_EQ(count.failures(), 2);
}

TEST(RankServices, AServiceEquipsRanksAndHearsOfTheirEnds) {
  EndPipe service;
  RankEquipment rank;
  ASSERT_TRUE(service.prepare({}).ok());
  ASSERT_TRUE(service.equip(0, rank).ok());
  ASSERT_EQ(rank.variables().size(), 1);
  EXPECT_EQ(rank.variables().Get(0).name(), "END_PIPE_FD");
  EXPECT_EQ(rank.variables().Get(0).value(), "0");
  const std::vector<UniqueFd> descriptors = rank.take_descriptors();
  messages::RankExited report;
  service.ended({}, report);
  char byte = 0;
  EXPECT_EQ(::read(descriptors.at(0).get(), &byte, 1), 1);
}

}  // namespace
}  // namespace paceline::launcher
