#include "launcher/agent/gpu_watch.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "launcher/agent/rank_environment.h"
#include "launcher/agent/rank_gpu.h"
#include "launcher/channel/figure_messages.h"
#include "tests/unit/launcher/loop_until.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GpuWatchTest : public ::testing::Test {
 protected:
  void send(const std::string& library) {
    watch_ = GpuWatch::send([] {}, library).value();
  }
  bool until(const std::function<bool()>& holds, Duration patience = seconds(20)) {
    return loop_until(loop_, holds, patience);
  }
  GpuWatch::Gpus gpus() const { return watch_->gpus(clock_.now()); }

  SystemClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<GpuWatch> watch_;
};

TEST_F(GpuWatchTest, TellsHowGpusAreUsed) {
  send(PACELINE_FAKE_NVML);
  EXPECT_TRUE(gpus().empty());
  watch_->ask(loop_);
  ASSERT_TRUE(until([this] { return gpus().size() == 3; }));
  const auto figures = figures_of<GpuFigure, kGpuFigures>(gpus()[1].figures());
  EXPECT_EQ(gpus()[1].name(), "NVIDIA Test");
  EXPECT_EQ(gpus()[1].uuid(), "GPU-1");
  EXPECT_EQ(figures.get(GpuFigure::kBusy), 0.87);
  EXPECT_EQ(figures.get(GpuFigure::kPower), 251.5);
  EXPECT_TRUE(watch_->gpus(clock_.now() + 2 * GpuWatch::kPatience).empty()) << "that was long ago";
}

TEST_F(GpuWatchTest, ADriverThatDoesNotAnswerLeavesFiguresUnknown) {
  ::setenv("PACELINE_FAKE_NVML_HANGS", "1", 1);
  send(PACELINE_FAKE_NVML);
  ::unsetenv("PACELINE_FAKE_NVML_HANGS");
  for (int i = 0; i < 3; ++i) watch_->ask(loop_);
  EXPECT_FALSE(until([this] { return !gpus().empty(); }, milliseconds(200)));
  const TimePoint begin = clock_.now();
  watch_.reset();
  EXPECT_LT(clock_.now() - begin, seconds(5)) << "the process is killed";
}

TEST_F(GpuWatchTest, WithoutALibraryThereAreNoGpus) {
  send("/no/such/library.so");
  watch_->ask(loop_);
  EXPECT_FALSE(until([this] { return !gpus().empty(); }, milliseconds(200)));
  watch_->ask(loop_);
  watch_->end();
  watch_->ask(loop_);
  EXPECT_TRUE(gpus().empty());
}

// ---- The GPU of a rank ---------------------------------------------------------------------

class RankGpuTest : public ::testing::Test {
 protected:
  RankGpuTest() {
    start_.add_apps()->set_ranks(2);
    for (std::uint32_t rank = 0; rank < 2; ++rank) start_.add_ranks(rank);
  }
  VisibleGpu visible(int local_rank) {
    return visible_gpu(start_, local_rank, [this](const char* name) -> const char* {
      const auto found = inherited_.find(name);
      return found == inherited_.end() ? nullptr : found->second.c_str();
    });
  }
  static void set(Variables& variables, const char* name, const char* value) {
    add_variable(variables, name, std::string(value));
  }
  static GpuWatch::Gpus gpus(const char* second_name = "A") {
    GpuWatch::Gpus made;
    for (std::uint32_t i = 0; i < 3; ++i) {
      messages::GpuMeasured& gpu = *made.Add();
      gpu.set_number(i);
      gpu.set_name(i == 1 ? second_name : "A");
      gpu.set_uuid("GPU-" + std::to_string(i) + "af");
    }
    return made;
  }

  messages::Start start_;
  std::map<std::string, std::string> inherited_;
};

TEST_F(RankGpuTest, IsDeviceLocalRankOfTheList) {
  EXPECT_EQ(visible(0), VisibleGpu());
  inherited_["CUDA_VISIBLE_DEVICES"] = "2, 1";
  EXPECT_EQ(visible(0).word, "2");
  EXPECT_EQ(visible(1).word, "1");
  inherited_["CUDA_VISIBLE_DEVICES"] = "2";
  EXPECT_EQ(visible(1).word, "2") << "the ranks share it";
  inherited_["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_EQ(visible(0).word, "");
}

TEST_F(RankGpuTest, TheUserWinsOverThePlacement) {
  for (int i = 0; i < 2; ++i) {
    messages::RankSeat& seat = *start_.add_seats();
    set(*seat.mutable_suggested(), "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    set(*seat.mutable_suggested(), "CUDA_VISIBLE_DEVICES", "1,0");
  }
  EXPECT_EQ(visible(1), (VisibleGpu{.word = "0", .counts_by_address = true}));
  set(*start_.mutable_apps(0)->mutable_environment(), "CUDA_VISIBLE_DEVICES", "GPU-2,GPU-1");
  EXPECT_EQ(visible(1).word, "GPU-1");
}

TEST_F(RankGpuTest, IsFoundByNumberOrName) {
  EXPECT_EQ(number_of({.word = "1"}, gpus()), 1U);
  EXPECT_EQ(number_of({.word = "GPU-2a"}, gpus()), 2U);
  EXPECT_FALSE(number_of({.word = "1"}, gpus("B"))) << "CUDA may count the faster one first";
  EXPECT_EQ(number_of({.word = "1", .counts_by_address = true}, gpus("B")), 1U);
  for (const char* const word : {"", "-1", "7", "MIG-GPU-2af/1/0", "GPU", "NoDevFiles"})
    EXPECT_FALSE(number_of({.word = word}, gpus())) << word;
  EXPECT_FALSE(number_of({.word = "1"}, {}));
}

}  // namespace
}  // namespace paceline::launcher
