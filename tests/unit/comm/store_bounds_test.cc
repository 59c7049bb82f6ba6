// The store's bounds: a client that goes over one is refused by name, and the others go on.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/unit/comm/raw_connection.h"
#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

class StoreBounds : public ::testing::Test {
 protected:
  ServedStore store_{StoreSocket::kUnix};
  const std::unique_ptr<StoreClient> client_ = store_.client();
};

// 64 MiB of values, in pieces of the longest there may be.
TEST_F(StoreBounds, AFullStoreSaysSoAndKeepsWhatItHas) {
  const std::string piece(kMaxValueBytes, 'v');
  ASSERT_TRUE(client_->set("empty", "", patient()).ok());
  for (int i = 0; i < 1024; ++i) {
    ASSERT_TRUE(client_->set(std::to_string(i), piece, patient()).ok()) << i;
  }
  for (const std::string key : {"one more", "empty"}) {
    const Status status = client_->set(key, piece, patient());
    EXPECT_EQ(status.code(), Code::kExhausted);
    EXPECT_NE(status.text().find("full"), std::string::npos) << status.text();
  }
  EXPECT_EQ(get_one(*client_, "one more", brief()).value(), std::nullopt);
  EXPECT_EQ(get_one(*client_, "empty").value(), "") << "what was refused changes nothing";
  EXPECT_EQ(get_one(*client_, "1023").value(), piece);
  EXPECT_TRUE(client_->set("0", "", patient()).ok()) << "room can be made";
  EXPECT_TRUE(client_->set("one more", piece, patient()).ok());
}

TEST_F(StoreBounds, AClientMayOnlyWaitForSoManyKeys) {
  RawConnection raw(store_.address());
  Bytes requests;
  constexpr std::uint32_t kBound = 1 << 16;
  for (std::uint32_t id = 0; id <= kBound; ++id) {
    append_frame({.kind = StoreFrameKind::kGet, .id = id, .key = std::to_string(id)}, requests);
  }
  ASSERT_TRUE(raw.send(requests));
  const auto refused = raw.receive_frame();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->kind, StoreFrameKind::kRefused);
  EXPECT_EQ(refused->id, kBound);
  EXPECT_NE(refused->value.find("too many"), std::string::npos) << refused->value;
  ASSERT_TRUE(client_->set("7", "seven", patient()).ok());
  const auto answer = raw.receive_frame();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->id, 7u);
  EXPECT_EQ(answer->value, "seven");
}

TEST_F(StoreBounds, AClientThatReadsNothingIsLetGo) {
  ASSERT_TRUE(client_->set("long", std::string(kMaxValueBytes, 'v'), patient()).ok());
  RawConnection raw(store_.address());
  bool sent = true;
  for (std::uint32_t id = 0; id < 1000 && sent; ++id) {
    sent = raw.send({.kind = StoreFrameKind::kGet, .id = id, .key = "long"});
  }
  EXPECT_TRUE(raw.ends());
  EXPECT_TRUE(client_->set("long", "short", patient()).ok());
}

// Else dialers would wait until their deadline. Sockets are made before the limit and connected
// under it.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = static_cast<rlim_t>(limit);
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(StoreWithoutDescriptors, RefusesDialersAndServesTheOthers) {
  const ServedStore store(StoreSocket::kTcp);
  const auto client = store.client();
  std::vector<UniqueFd> dialers;
  for (int i = 0; i < 3; ++i)
    dialers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd next(::dup(0));  // the lowest number that is free
  auto none = std::make_unique<DescriptorLimit>(next.get());
  for (const UniqueFd& dialer : dialers) {
    ASSERT_EQ(::connect(dialer.get(), store.address().data(), store.address().size()), 0);
    Bytes first(kChallengeBytes);
    EXPECT_EQ(::recv(dialer.get(), first.data(), first.size(), MSG_WAITALL),
              static_cast<ssize_t>(kChallengeBytes));
    const Status status =
        DialerHandshake(store.key(), {.purpose = Purpose::kStore}, {}).answer(first).status();
    EXPECT_EQ(status.code(), Code::kExhausted) << status.to_string();
  }
  EXPECT_TRUE(client->set("key", "value", patient()).ok());
  none.reset();
  EXPECT_EQ(get_one(*store.client(), "key").value(), "value") << "it has room again";
}

}  // namespace
}  // namespace paceline::testing
