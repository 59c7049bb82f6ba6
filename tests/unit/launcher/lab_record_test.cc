#include "launcher/tools/lab/lab_record.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

LabRecord example() {
  return {.plan = {.name = "two",
                   .hosts = 2,
                   .slots = 3,
                   .rates_bits = {1'000'000'000, 0},
                   .delay = std::chrono::microseconds(200),
                   .ssh = true},
          .maker = {.pid = 10, .start_time = 100},
          .keeper = {.pid = 11, .start_time = 101},
          .in_user_namespace = true,
          .inits = {{.pid = 12, .start_time = 102}, {.pid = 13, .start_time = 103}},
          .cgroups = {"/sys/fs/cgroup/a b"}};
}

TEST(LabRecord, ReadsWhatItWrites) {
  EXPECT_EQ(parse_lab_record(to_text(example())), example());
  LabRecord unfinished = example();
  unfinished.keeper = {};
  unfinished.inits.clear();
  EXPECT_EQ(parse_lab_record(to_text(unfinished)), unfinished);
}

TEST(LabRecord, SkipsWhatItDoesNotKnow) {
  EXPECT_EQ(parse_lab_record("colour blue\n" + to_text(example()) + "more\n"), example());
}

TEST(LabRecord, EveryCutIsSeen) {
  const std::string text = to_text(example());
  for (std::size_t size = 0; size < text.find("cgroup"); ++size) {
    const auto record = parse_lab_record(text.substr(0, size));
    // A number may lose its last digits unseen, but no host.
    EXPECT_TRUE(!record || record->inits.size() == (record->is_complete() ? 2u : 0u)) << size;
  }
}

TEST(LabRecord, RefusesWhatIsNoRecord) {
  for (const char* text : {"", "name lab\n", "hosts 1\nrate_bits x\n", "name ../x\n"})
    EXPECT_EQ(parse_lab_record(text), std::nullopt) << text;
  std::string text = to_text(example());
  EXPECT_EQ(parse_lab_record(text.replace(text.find("hosts 2"), 7, "hosts 3")), std::nullopt);
}

// The reader reads at most this number of bytes (launcher/registry/job_folder.h).
TEST(LabRecord, TheLargestIsShort) {
  LabRecord largest = example();
  largest.plan.hosts = kMaxLabHosts;
  largest.inits.assign(kMaxLabHosts, {.pid = 1 << 22, .start_time = 1ull << 50});
  largest.cgroups.assign(2, std::string(400, 'x'));
  EXPECT_LT(to_text(largest).size(), 4096u);
}

}  // namespace
}  // namespace paceline::launcher
