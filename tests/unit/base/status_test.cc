#include <set>
#include <string>

#include <gtest/gtest.h>

#include <paceline/status.h>

namespace paceline {
namespace {

const Status kFailure(Code::kPeerLost, Scope::kGroup, "the connection ended",
                      {.rank = 3, .host = "node07", .operation = "barrier #5", .sequence = 5});

TEST(Status, ASuccessSaysNothing) {
  const Status success;
  EXPECT_TRUE(success.ok());
  EXPECT_EQ(success.code(), Code::kOk);
  EXPECT_EQ(success.scope(), Scope::kNone);
  EXPECT_EQ(success.text(), "");
  EXPECT_EQ(success.culprit(), Culprit());
  EXPECT_EQ(success.to_string(), "ok");
  EXPECT_NO_THROW(success.value());
}

TEST(Status, AFailureSaysWhatToDoWhatIsRuinedAndWho) {
  EXPECT_FALSE(kFailure.ok());
  EXPECT_EQ(kFailure.code(), Code::kPeerLost);
  EXPECT_EQ(kFailure.scope(), Scope::kGroup);
  EXPECT_EQ(kFailure.text(), "the connection ended");
  EXPECT_EQ(kFailure.culprit().rank, 3);
  EXPECT_EQ(kFailure.culprit().sequence, 5);
  EXPECT_EQ(kFailure.to_string(),
            "peer lost: the connection ended [rank 3 on node07] in barrier #5");
}

TEST(Status, OneLineHasOnlyWhatIsKnown) {
  const Status bare(Code::kTimeout, Scope::kNone, "nothing came");
  EXPECT_EQ(bare.to_string(), "timeout: nothing came");
  EXPECT_EQ(bare.with_culprit({.rank = 0}).to_string(), "timeout: nothing came [rank 0]");
  EXPECT_EQ(bare.with_culprit({.operation = "barrier #1"}).to_string(),
            "timeout: nothing came in barrier #1");
}

TEST(Status, ContextStandsBeforeTheSentenceAndChangesNothingElse) {
  const Status outer = kFailure.with_context("store").with_context("rank 1");
  EXPECT_EQ(outer.text(), "rank 1: store: the connection ended");
  EXPECT_EQ(outer.code(), kFailure.code());
  EXPECT_EQ(outer.scope(), kFailure.scope());
  EXPECT_EQ(outer.culprit(), kFailure.culprit());
  EXPECT_EQ(kFailure.text(), "the connection ended");
}

TEST(Status, ASuccessStaysOneWhateverIsSaidAboutIt) {
  EXPECT_TRUE(Status().with_context("store").ok());
  EXPECT_TRUE(Status().with_culprit({.rank = 1}).ok());
}

TEST(Status, AnotherCulpritReplacesTheFirst) {
  const Status other = kFailure.with_culprit({.rank = 4});
  EXPECT_EQ(other.culprit(), Culprit{.rank = 4});
  EXPECT_EQ(other.text(), kFailure.text());
}

TEST(Status, CopiesOutliveTheOriginal) {
  Status copy;
  {
    const Status original = kFailure.with_context("short-lived");
    copy = original;
  }
  EXPECT_EQ(copy.text(), "short-lived: the connection ended");
}

TEST(Status, ValueThrowsTheFailureWithItsLine) {
  try {
    kFailure.value();
    FAIL() << "value() returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), kFailure.to_string());
    EXPECT_EQ(error.status().code(), Code::kPeerLost);
    EXPECT_EQ(error.status().culprit().host, "node07");
  }
}

TEST(Status, EveryCodeAndScopeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    EXPECT_TRUE(names.emplace(name(static_cast<Code>(code))).second) << code;
  }
  for (int scope = 0; scope <= static_cast<int>(Scope::kProcess); ++scope) {
    EXPECT_TRUE(names.emplace(name(static_cast<Scope>(scope))).second) << scope;
  }
  EXPECT_EQ(name(static_cast<Code>(200)), "unknown code");
  EXPECT_EQ(name(static_cast<Scope>(200)), "unknown scope");
}

}  // namespace
}  // namespace paceline
