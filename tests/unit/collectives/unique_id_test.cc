#include "collectives/unique_id.h"

#include <chrono>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/communicator.h>

#include "tests/harness/sanitized.h"

namespace paceline {
namespace {

constexpr unsigned kTimeoutS = 20;
// GCC 12's address sanitizer does not release its allocator's locks in a forked child, and its
// thread sanitizer ends a child that starts a thread.
constexpr const char* kNoChildren = "a sanitizer cannot follow a fork beside threads";

Status meet(const UniqueId& id, int rank) {
  auto world = Communicator::init(id, rank, 2, {.timeout_ms = std::chrono::seconds(kTimeoutS)});
  return world.ok() ? world->close() : world.status();
}

// The child has a copy of the server, but not its thread.
TEST(UniqueId, AForkedChildJoinsWhatItsParentServes) {
  if (testing::kSanitized) GTEST_SKIP() << kNoChildren;
  const UniqueId id = make_unique_id().value();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kTimeoutS);
    ::_exit(take_server_of(id) != nullptr ? 2 : meet(id, 1).ok() ? 0 : 1);
  }
  const Status joined = meet(id, 0);
  EXPECT_TRUE(joined.ok()) << joined.to_string();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(UniqueId, AForkedChildMakesItsOwn) {
  if (testing::kSanitized) GTEST_SKIP() << kNoChildren;
  const UniqueId id = make_unique_id().value();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kTimeoutS);
    const auto own = make_unique_id();
    ::_exit(own.ok() && take_server_of(*own) != nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(take_server_of(id), nullptr);
}

// An operation that finds it out would end the communicator.
TEST(UniqueId, IsNotJoinedWithAnAlgorithmThatCannotBe) {
  const auto joined_with = [](const char* algorithm) {
    ::setenv("PACELINE_ALGORITHM", algorithm, 1);
    const Status status = Communicator::init(make_unique_id().value(), 0, 1,
                                             {.determinism = Determinism::kPlacementStable})
                              .status();
    ::unsetenv("PACELINE_ALGORITHM");
    return status;
  };
  EXPECT_TRUE(joined_with("bruck").ok());
  for (const char* const refused : {"ring", "bingo"}) {
    const Status status = joined_with(refused);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
    EXPECT_NE(status.text().find(std::string("PACELINE_ALGORITHM=") + refused), std::string::npos)
        << status.to_string();
  }
}

}  // namespace
}  // namespace paceline
