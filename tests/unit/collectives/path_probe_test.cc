// Ranks measure the path between their hosts, over the simulated network.
#include "collectives/path_probe.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr Duration kDelay = std::chrono::microseconds(50);

// The texts of all ranks, in the memory of the simulation.
struct Table {
  explicit Table(int ranks) : texts(static_cast<std::size_t>(ranks)) {}
  std::vector<std::optional<std::string>> texts;
};

class TableExchange final : public Exchange {
 public:
  TableExchange(Table& table, const RankEnd& end) : table_(table), end_(end) {}
  Result<std::vector<std::string>> all(const ExchangeTopic&, const std::string& own,
                                       Deadline) override {
    table_.texts[static_cast<std::size_t>(end_.rank())] = own;
    const auto complete = [this] {
      return std::ranges::all_of(table_.texts, [](const auto& text) { return text.has_value(); });
    };
    while (!complete())
      (void)end_.engine.wait(complete, Deadline::after(end_.engine.clock(), kDelay));
    std::vector<std::string> texts;
    for (const auto& text : table_.texts) texts.push_back(*text);
    return texts;
  }

 private:
  Table& table_;
  const RankEnd& end_;
};

Result<PathModel> measured(RankEnd& end, Table& table, const std::vector<int>& hosts) {
  TableExchange exchange(table, end);
  return measure_between_hosts(end.transport, end.engine, HostMap::of(hosts), exchange,
                               Deadline::after(end.engine.clock(), std::chrono::seconds(60)));
}

TEST(PathProbe, AllRanksKnowTheSlowestPath) {
  const std::vector<int> hosts = {0, 0, 1, 2, 1};
  for (const bool is_slow : {false, true}) {
    Table table(5);
    std::vector<PathModel> found(5);
    const Status status = run_transports(
        {.ranks = 5, .network = {.min_delay = kDelay, .max_delay = kDelay, .synchronous = 0}},
        [&](RankEnd& end) -> Status {
          if (is_slow && end.rank() == 3) end.network->delay(3, std::chrono::milliseconds(1));
          PACELINE_TRY_ASSIGN(found[static_cast<std::size_t>(end.rank())],
                              measured(end, table, hosts));
          return {};
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (const PathModel& path : found) {
      EXPECT_EQ(path.alpha_ns, found[0].alpha_ns);
      EXPECT_EQ(path.beta_ns_per_byte, found[0].beta_ns_per_byte);
    }
    EXPECT_GE(found[0].alpha_ns, is_slow ? 1e6 : 50e3);
    EXPECT_LE(found[0].alpha_ns, is_slow ? 1.2e6 : 60e3);
    EXPECT_LE(found[0].beta_ns_per_byte, 0.01) << "the simulated network has no bound of bytes";
  }
}

// Requests with the neighbour that lives are pending when the other one is lost.
TEST(PathProbe, ALostNeighbourAmongThreeHostsLeavesNoRequest) {
  const std::vector<int> hosts = {0, 1, 2};
  for (const std::uint64_t seed : seeds(20)) {
    Table table(3);
    const Status status = run_transports({.ranks = 3, .seed = seed}, [&](RankEnd& end) -> Status {
      if (end.rank() == 1) return {};
      const Result<PathModel> path = measured(end, table, hosts);
      if (path.ok()) return wrong("it measured a rank that has left");
      return path.status().code() == Code::kPeerLost ? Status() : path.status();
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

TEST(PathProbe, ALostNeighbourIsNamed) {
  const std::vector<int> hosts = {0, 1};
  Table table(2);
  const Status status = run_transports({.ranks = 2}, [&](RankEnd& end) -> Status {
    if (end.rank() == 1) return {};
    const Result<PathModel> path = measured(end, table, hosts);
    if (path.ok()) return wrong("it measured a rank that has left");
    return path.status().culprit().rank == 1 ? Status() : path.status();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing
