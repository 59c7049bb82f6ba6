#include "launcher/tools/measure/probe/gradient/await_line.h"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline::probe {
namespace {

constexpr Duration kLong = std::chrono::seconds(60);

class AwaitLine : public ::testing::Test {
 protected:
  AwaitLine() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read_end_ = UniqueFd(ends[0]);
    write_end_ = UniqueFd(ends[1]);
  }
  void write(const std::string& text) const {
    EXPECT_EQ(::write(write_end_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  Status await(Duration patience = kLong) const { return await_line(read_end_.get(), patience); }

  UniqueFd read_end_, write_end_;
};

TEST_F(AwaitLine, OneLineAtATime) {
  write("go\n\na longer one\nrest");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(await().ok());
  EXPECT_EQ(await(std::chrono::milliseconds(10)).code(), Code::kTimeout);
}

TEST_F(AwaitLine, AnEndIsNoLine) {
  write("unfinished");
  write_end_.reset();
  EXPECT_EQ(await().code(), Code::kUnavailable);
}

TEST_F(AwaitLine, NobodySaysAnything) {
  const Status status = await(std::chrono::milliseconds(10));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.text(), "no turn was announced for 0.01 s");
}

}  // namespace
}  // namespace paceline::probe
