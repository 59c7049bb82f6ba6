// Long messages whose data stays in a buffer of the sender's until it is copied.

#include "comm/transport/shm_loans.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/transport/shm_area.h"
#include "tests/unit/comm/shm_pair.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kRing = 4096, kLong = (std::size_t{3} << 20) + 5;

class ShmLoansTest : public ::testing::Test, private RequestListener {
  void ended(Request& request) override {
    EXPECT_TRUE(outcomes_.emplace(&request, request.status.code()).second) << "it ended twice";
  }
  std::deque<Request> requests_;  // outlive the transports, which end them
  std::map<const Request*, Code> outcomes_;

 protected:
  Request& request() { return requests_.emplace_back(Request{.listener = this}); }
  /// Nothing as long as it has not ended.
  std::optional<Code> outcome(const Request& request) const {
    const auto found = outcomes_.find(&request);
    return found == outcomes_.end() ? std::nullopt : std::optional(found->second);
  }
  Request& send(std::span<const std::byte> payload) {
    Request& made = request();
    pair_.writer().send(1, {}, payload, made);
    return made;
  }
  Request& receive(std::span<std::byte> buffer) {
    Request& made = request();
    pair_.reader().receive(0, buffer, made);
    return made;
  }
  std::span<std::byte> buffer(std::size_t bytes, std::byte value) {
    const std::span<std::byte> made = domain_.allocate(bytes).value();
    std::fill(made.begin(), made.end(), value);
    return made.first(bytes);
  }
  static Arenas arenas_of(MemoryDomain& domain) {
    const auto view = ArenaView::open(UniqueFd(::dup(domain.file().value()))).value();
    return {.own = &domain, .views = {view, view}};
  }

  static std::shared_ptr<SharedSegment> make_segment() {
    return std::make_shared<SharedSegment>(
        SharedSegment::create_nameless(ShmPair::bytes_for(kRing)).value());
  }
  ShmArea::LoanLine& loans() { return area_.loans(0, 1); }
  /// As a sender that comes no further than its claim of a piece.
  SplitPiece claim_as_sender() {
    return SplitCopy(loans().split, 1, kLong).claim_from_back().value();
  }

  struct HalfCopied {
    std::span<std::byte> sent, received;
    const Request& receive_of;
    SplitPiece piece;  // what the sender is at
  };
  HalfCopied message_with_claim() {
    const auto sent = buffer(kLong, std::byte{1}), received = buffer(kLong, std::byte{0});
    const Request& receive_of = receive(received);
    send(sent);
    for (int turn = 0; turn < 2; ++turn) pair_.drive_one(1);
    return {sent, received, receive_of, claim_as_sender()};
  }

  MemoryDomain domain_{std::size_t{64} << 20};
  const std::shared_ptr<SharedSegment> segment_ = make_segment();
  const ShmArea area_ =
      ShmArea::over(segment_->memory().subspan(HostRoom::bytes_for(2)), 2, kRing).value();
  ShmPair pair_{segment_, kRing, {.arenas = arenas_of(domain_)}};
};

TEST_F(ShmLoansTest, ALongMessageInABufferStaysThereUntilItIsReceived) {
  const auto sent = buffer(kLong, std::byte{1});
  const Request& send_of = send(sent);
  pair_.drive(10);
  EXPECT_FALSE(outcome(send_of).has_value());
  EXPECT_FALSE(domain_.free(sent.data()).ok()) << "it is in use";
  sent[kLong - 1] = std::byte{2};  // it was not copied yet

  Bytes received(kLong);
  const Request& receive_of = receive(received);
  pair_.drive(10);
  EXPECT_EQ(outcome(receive_of), Code::kOk);
  EXPECT_EQ(outcome(send_of), Code::kOk);
  EXPECT_TRUE(std::ranges::equal(received, sent));
  EXPECT_TRUE(domain_.free(sent.data()).ok());
}

// As many turns as its pieces are, so that other peers have theirs in between.
TEST_F(ShmLoansTest, ItIsCopiedInPieces) {
  const auto sent = buffer(kLong, std::byte{1});
  Bytes received(kLong);
  const Request& receive_of = receive(received);
  send(sent);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_FALSE(outcome(receive_of).has_value()) << turn;
    EXPECT_TRUE(pair_.drive_one(1)) << turn;
  }
  pair_.drive_one(1);
  EXPECT_EQ(outcome(receive_of), Code::kOk);
}

TEST_F(ShmLoansTest, WhatIsShortOrOrdinaryGoesThroughTheRing) {
  const auto is_short = buffer(ShmLoans::kLeastBytes - 1, std::byte{1});
  const Bytes ordinary(ShmLoans::kLeastBytes, std::byte{2});
  for (const std::span<const std::byte> payload :
       {std::span<const std::byte>(is_short), {ordinary}}) {
    const Request& send_of = send(payload);
    pair_.drive(100);
    EXPECT_EQ(outcome(send_of), Code::kOk) << "the backlog keeps it";
    Bytes received(payload.size());
    EXPECT_EQ(outcome(receive(received)), Code::kOk);
    EXPECT_TRUE(std::ranges::equal(received, payload));
  }
}

TEST_F(ShmLoansTest, AnotherLengthIsAMismatchAndComesBack) {
  const auto sent = buffer(kLong, std::byte{1});
  for (const bool is_early : {true, false}) {
    Bytes received(kLong - 1, std::byte{7});
    Request* receive_of = is_early ? &receive(received) : nullptr;
    const Request& send_of = send(sent);
    pair_.drive(2);
    if (!is_early) receive_of = &receive(received);
    pair_.drive(2);
    EXPECT_EQ(outcome(*receive_of), Code::kMismatch);
    EXPECT_EQ(outcome(send_of), Code::kOk);
    EXPECT_EQ(received, Bytes(kLong - 1, std::byte{7}));
  }
}

// In its middle, or before it began: what the receive has got is not what was sent.
TEST_F(ShmLoansTest, WhoGivesUpMayUseTheMemoryAgain) {
  for (const int turns : {0, 2}) {
    SCOPED_TRACE(turns);
    ShmPair pair(make_segment(), kRing, {.arenas = arenas_of(domain_)});
    const auto sent = buffer(kLong, std::byte{1});
    Bytes received(kLong);
    Request& send_of = request();
    Request& receive_of = request();
    pair.writer().send(1, {}, sent, send_of);
    pair.reader().receive(0, received, receive_of);
    for (int turn = 0; turn < turns; ++turn) pair.drive_one(1);
    pair.writer().abort(Status(Code::kTimeout, Scope::kGroup, "enough"));
    EXPECT_EQ(outcome(send_of), Code::kTimeout);
    EXPECT_TRUE(domain_.free(sent.data()).ok());
    pair.drive(10);
    EXPECT_EQ(outcome(receive_of), Code::kPeerLost);
  }
}

// The receiver has it all: nothing that happens before the sender looks again makes it undone.
TEST_F(ShmLoansTest, WhatHasBeenReceivedWasSent) {
  const auto sent = buffer(kLong, std::byte{1});
  const Request& send_of = send(sent);
  Bytes received(kLong);
  const Request& receive_of = receive(received);
  for (int turn = 0; turn < 10; ++turn) pair_.drive_one(1);
  ASSERT_EQ(outcome(receive_of), Code::kOk);
  ASSERT_FALSE(outcome(send_of).has_value());
  pair_.writer().abort(Status(Code::kTimeout, Scope::kGroup, "enough"));
  EXPECT_EQ(outcome(send_of), Code::kOk);
}

TEST_F(ShmLoansTest, WhoLeavesLeavesNothingToRead) {
  const auto sent = buffer(kLong, std::byte{1});
  const Request& send_of = send(sent);
  pair_.destroy_writer();
  EXPECT_EQ(outcome(send_of), Code::kCancelled);
  Bytes received(kLong);
  const Request& receive_of = receive(received);
  for (int turn = 0; turn < 10; ++turn) pair_.drive_one(1);
  EXPECT_EQ(outcome(receive_of), Code::kPeerLost);
}

// What the receiver wants no more comes back to its sender.
TEST_F(ShmLoansTest, WhatIsThrownAwayComesBack) {
  const auto sent = buffer(kLong, std::byte{1});
  const Request& early = send(sent);
  pair_.drive(2);
  pair_.reader().abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
  const Request& late = send(sent);
  pair_.drive(2);
  EXPECT_EQ(outcome(early), Code::kOk);
  EXPECT_EQ(outcome(late), Code::kOk);
}

TEST_F(ShmLoansTest, ASenderThatWaitsHelps) {
  const auto sent = buffer(kLong, std::byte{1});
  const auto received = buffer(kLong, std::byte{0});
  const auto copied = [&] { return std::count(received.begin(), received.end(), std::byte{1}); };
  const Request& receive_of = receive(received);
  const Request& send_of = send(sent);
  while (copied() == 0) pair_.drive_one(1);
  EXPECT_FALSE(domain_.free(received.data()).ok()) << "it is in use";
  const auto alone = copied();
  EXPECT_TRUE(pair_.drive_one(0));
  EXPECT_GT(copied(), alone + alone / 2);
  pair_.drive(4);
  EXPECT_EQ(outcome(receive_of), Code::kOk);
  EXPECT_EQ(outcome(send_of), Code::kOk);
  EXPECT_TRUE(std::ranges::equal(received, sent));
  EXPECT_EQ(domain_.use().left_bytes, 0U);
  EXPECT_TRUE(domain_.free(sent.data()).ok());
  EXPECT_TRUE(domain_.free(received.data()).ok());
}

TEST_F(ShmLoansTest, WhereRanksShareCpusItsReceiverCopiesAlone) {
  ShmPair pair(make_segment(), kRing, {.arenas = arenas_of(domain_), .shares_cpus = true});
  const auto sent = buffer(kLong, std::byte{1});
  const auto received = buffer(kLong, std::byte{0});
  Request& receive_of = request();
  pair.reader().receive(0, received, receive_of);
  pair.writer().send(1, {}, sent, request());
  for (int turn = 0; turn < 3; ++turn) pair.drive_one(1);
  EXPECT_FALSE(pair.drive_one(0));
  for (int turn = 0; turn < 3; ++turn) pair.drive_one(1);
  EXPECT_EQ(outcome(receive_of), Code::kOk);
}

TEST_F(ShmLoansTest, AReceiverWaitsForThePieceThatItsSenderIsAt) {
  const auto [sent, received, receive_of, piece] = message_with_claim();
  for (int turn = 0; turn < 10; ++turn) pair_.drive_one(1);
  EXPECT_FALSE(pair_.drive_one(1)) << "it may sleep";
  EXPECT_FALSE(outcome(receive_of).has_value());
  std::ranges::copy(sent.subspan(piece.begin, piece.bytes), received.subspan(piece.begin).begin());
  SplitCopy(loans().split, 1, kLong).add_written();
  EXPECT_TRUE(pair_.drive_one(1));
  EXPECT_EQ(outcome(receive_of), Code::kOk);
  EXPECT_TRUE(std::ranges::equal(received, sent));
}

// The memory rule: what a sender that was stopped at a piece writes when it goes on is not seen.
TEST_F(ShmLoansTest, WhatIsWrittenLateIsNotSeen) {
  const auto [sent, received, receive_of, piece] = message_with_claim();
  const auto view = arenas_of(domain_).views[0];
  std::byte* const late =
      view->at(domain_.place_of(received.data(), received.size()).value() + piece.begin);
  pair_.reader().abort(Status(Code::kTimeout, Scope::kGroup, "enough"));
  EXPECT_EQ(outcome(receive_of), Code::kTimeout);
  std::fill_n(late, piece.bytes, std::byte{9});
  EXPECT_EQ(std::ranges::count(received, std::byte{9}), 0);
  EXPECT_GE(domain_.use().left_bytes, kLong);
  EXPECT_TRUE(domain_.free(received.data()).ok());
}

// Its memory outlives it, and nobody writes the rest of the piece that it was at.
TEST_F(ShmLoansTest, OfASenderThatHasEndedAllIsCopied) {
  const auto sent = buffer(kLong, std::byte{1});
  const auto received = buffer(kLong, std::byte{0});
  const Arenas arenas = arenas_of(domain_);
  ShmLoans receiver(
      {.ours = area_.loans(1, 0), .theirs = loans(), .bell = pair_.writer().ringer(0)}, arenas.own,
      arenas.views[0]);
  const Loan loan{.place = domain_.place_of(sent.data(), sent.size()).value(), .bytes = kLong};
  EXPECT_EQ(receiver.copy_some(loan, received).value(), Lender::Progress::kMoved);
  claim_as_sender();
  for (int turn = 0; turn < 3; ++turn) (void)receiver.copy_some(loan, received);
  EXPECT_EQ(receiver.copy_some(loan, received).value(), Lender::Progress::kWaits);
  EXPECT_TRUE(receiver.copy_rest(loan, received).ok());
  EXPECT_TRUE(std::ranges::equal(received, sent));
  receiver.give_back();
  EXPECT_EQ(loans().returned.load(), 1U);
  EXPECT_TRUE(domain_.free(received.data()).ok());
}

// A place that is none is not written to, and the receiver does without its sender.
TEST_F(ShmLoansTest, AReceiverThatNamesAPlaceOutsideIsNotHelped) {
  const auto sent = buffer(kLong, std::byte{1});
  const Request& send_of = send(sent);
  for (const std::uint64_t place : {domain_.use().allocated_bytes + (std::uint64_t{1} << 40),
                                    ~std::uint64_t{0} - kLong, ~std::uint64_t{0}}) {
    SplitCopy(loans().split, 1, kLong).open(place);
    EXPECT_FALSE(pair_.drive_one(0));
    EXPECT_EQ(loans().split.written.load(), 0U);
  }
  EXPECT_FALSE(outcome(send_of).has_value());
}

TEST(SplitCopyTest, EachPieceOnceAndNoneOfAnother) {
  for (const std::size_t bytes : {std::size_t{2}, SplitCopy::kLeastBytes, kLong, kLong << 20}) {
    SplitLines lines{};
    SplitCopy owner(lines, 7, bytes), helper(lines, 7, bytes), late(lines, 6, bytes);
    EXPECT_FALSE(helper.target() || helper.claim_from_back()) << "it is not open";
    owner.open(4096);
    EXPECT_EQ(helper.target(), 4096U);
    EXPECT_FALSE(late.target() || late.claim_from_back());
    std::size_t begin = 0, end = bytes;
    for (int claims = 0; begin < end; ++claims) {
      if (claims % 3 == 2) {
        const SplitPiece piece = helper.claim_from_back().value();
        EXPECT_EQ(piece.begin + piece.bytes, end);
        end = piece.begin;
        EXPECT_FALSE(owner.is_written());
        helper.add_written();
      } else {
        const SplitPiece piece = owner.claim().value();
        EXPECT_EQ(piece.begin, begin);
        begin += piece.bytes;
      }
      EXPECT_TRUE(owner.is_written());
    }
    EXPECT_EQ(begin, end);
    EXPECT_FALSE(owner.claim() || helper.claim_from_back() || helper.target());

    SplitCopy next(lines, 8, bytes);
    next.open(0);
    EXPECT_TRUE(next.is_written()) << "what was written of the one before does not count";
    EXPECT_FALSE(helper.claim_from_back());
    EXPECT_TRUE(next.claim_from_back());
    next.close();
    EXPECT_FALSE(next.claim() || next.claim_from_back());
    EXPECT_FALSE(next.is_written());
  }
}

// Short and long, in buffers and not, received before they come and after.
TEST_F(ShmLoansTest, AllKeepTheirOrder) {
  constexpr std::size_t kMessages = 400;
  Random random(1);
  const auto in_buffers = buffer(200'000, std::byte{});
  Bytes ordinary(in_buffers.size());
  for (std::size_t i = 0; i < ordinary.size(); ++i)
    in_buffers[i] = ordinary[i] = static_cast<std::byte>(random.next());
  std::deque<Bytes> elsewhere;
  std::vector<std::span<std::byte>> received;
  std::vector<std::span<const std::byte>> sent;
  std::vector<const Request*> all;
  while (received.size() < kMessages) {
    const bool may_send = sent.size() < kMessages && sent.size() < received.size() + 5;
    if (may_send && (random.below(2) == 0 || sent.size() == received.size())) {
      const std::size_t begin = random.below(ordinary.size());
      const std::size_t bytes = random.below(ordinary.size() - begin + 1);
      const std::span<const std::byte> from =
          random.below(2) == 0 ? in_buffers : std::span(ordinary);
      sent.push_back(from.subspan(begin, bytes));
      all.push_back(&send(sent.back()));
    } else {
      const std::size_t bytes = sent[received.size()].size();
      received.push_back(random.below(2) == 0 ? buffer(bytes, std::byte{})
                                              : std::span(elsewhere.emplace_back(bytes)));
      all.push_back(&receive(received.back()));
    }
    pair_.drive(static_cast<int>(random.below(3)));
  }
  pair_.drive(20'000);
  for (const Request* one : all) ASSERT_EQ(outcome(*one), Code::kOk);
  for (std::size_t i = 0; i < kMessages; ++i)
    ASSERT_TRUE(std::ranges::equal(received[i], sent[i])) << i;
  EXPECT_TRUE(domain_.free(in_buffers.data()).ok());
}

}  // namespace
}  // namespace paceline::testing
