#include "comm/host_segment.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

namespace fs = std::filesystem;

// Ranks are threads, so a place is nobody else's here; processes are tried by the conformance
// suite.
class HostSegmentTest : public ::testing::Test {
 protected:
  HostSegmentTest() { fs::create_directories(root_); }
  ~HostSegmentTest() override { fs::remove_all(root_); }

  HostSegmentRequest request(std::vector<std::size_t> bytes = {1 << 20}) const {
    return {.folder = root_, .prefix = "paceline-x-", .bytes = std::move(bytes)};
  }
  static Group group(int rank, int size) {
    Group all{.rank = rank};
    for (int i = 0; i < size; ++i) all.members.push_back({.host = "h" + std::to_string(i)});
    return all;
  }
  std::vector<Result<HostSegment>> find(const std::vector<HostSegmentRequest>& requests) {
    const int size = static_cast<int>(requests.size());
    std::vector<Result<HostSegment>> found(requests.size(), HostSegment());
    std::vector<std::unique_ptr<StoreClient>> clients;  // what they set is there until all have it
    for (int rank = 0; rank < size; ++rank) clients.push_back(store_.client());
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
      ranks.emplace_back([&, rank] {
        const auto place = static_cast<std::size_t>(rank);
        const Group of_rank = group(rank, size);
        StoreExchange exchange(*clients[place], of_rank);
        found[place] = find_host_segment(exchange, of_rank, requests[place], patient());
      });
    }
    for (std::thread& rank : ranks) rank.join();
    return found;
  }

  const fs::path root_ =
      fs::path(::testing::TempDir()) / ("paceline_host_segment_" + std::to_string(::getpid()));
  ServedStore store_{StoreSocket::kUnix};
};

TEST_F(HostSegmentTest, IsTheSameForAllAndHasNoNameAfterwards) {
  const auto found = find({request(), request(), request()});
  for (const auto& one : found) {
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    ASSERT_NE(one->segment, nullptr) << one->why_not;
    EXPECT_EQ(one->segment->memory().size(), std::size_t{1} << 20);
    EXPECT_EQ(one->cpus.to_text(), affinity().to_text());
  }
  found[0]->segment->memory()[kHostSegmentHeader] = std::byte{9};
  EXPECT_EQ(found[2]->segment->memory()[kHostSegmentHeader], std::byte{9});
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(HostSegmentTest, WhatRank0HasToSayComesToAll) {
  std::vector<HostSegmentRequest> requests{request(), request(), request()};
  requests[0].note = std::string(kMostNote, 'x');
  requests[1].note = "of no account";
  for (const auto& one : find(requests)) {
    ASSERT_TRUE(one.ok()) << one.status().to_string();
    EXPECT_EQ(one->note, requests[0].note);
  }
}

TEST_F(HostSegmentTest, TheFirstSizeForWhichThereIsRoomIsTaken) {
  const auto found = find({request({std::size_t{1} << 50, 1 << 16}), request()});
  ASSERT_TRUE(found[1].ok());
  ASSERT_NE(found[1]->segment, nullptr);
  EXPECT_EQ(found[1]->segment->memory().size(), std::size_t{1} << 16);
}

TEST_F(HostSegmentTest, AsMuchAsItTakesIsLeftForOthers) {
  const std::size_t most = fs::space(root_).available / 4 * 3;
  const auto found = find({request({most, 1 << 16}), request()});
  ASSERT_TRUE(found[1].ok());
  ASSERT_NE(found[1]->segment, nullptr);
  EXPECT_EQ(found[1]->segment->memory().size(), std::size_t{1} << 16);
}

TEST_F(HostSegmentTest, WhereItCannotBeMadeNobodyHasIt) {
  HostSegmentRequest nowhere = request();
  nowhere.folder = "/nowhere";
  for (const auto& one : find({nowhere, request(), request()})) {
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(one->segment, nullptr);
    EXPECT_TRUE(one->why_not.starts_with("rank 0 on h0: cannot make /nowhere/")) << one->why_not;
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

// As a rank does that runs elsewhere.
TEST_F(HostSegmentTest, WhoCannotOpenItIsNamedToAll) {
  const auto client = store_.client();  // its keys are there as long as it is
  std::thread stranger([&client] {
    const std::string key = "memory-offer/world/0/0";
    ASSERT_TRUE(client->get({&key, 1}, patient()).ok());
    ASSERT_TRUE(client->set("memory-offer/world/0/1", "", patient()).ok());
    ASSERT_TRUE(client->set("memory/world/0/1", "no it has no such folder", patient()).ok());
  });
  const auto own = store_.client();
  const Group first = group(0, 2);
  StoreExchange exchange(*own, first);
  const auto found = find_host_segment(exchange, first, request(), patient());
  stranger.join();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->segment, nullptr);
  EXPECT_EQ(found->why_not, "rank 1 on h1: it has no such folder");
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(HostSegmentTest, WhoDoesNotComeIsNamed) {
  const auto own = store_.client();
  const Group first = group(0, 2);
  StoreExchange exchange(*own, first);
  const auto found = find_host_segment(exchange, first, request(), ample());
  EXPECT_EQ(found.status().code(), Code::kTimeout);
  EXPECT_EQ(found.status().culprit().rank, 1);
  EXPECT_TRUE(fs::is_empty(root_));
}

}  // namespace
}  // namespace paceline::testing
