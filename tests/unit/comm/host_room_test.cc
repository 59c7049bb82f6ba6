// Groups of one room: they share its doorbells and its engine, and nothing else.
#include "comm/host_room.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/transport/shm.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

constexpr int kPlaces = 3;
constexpr std::size_t kRing = 4096;

struct Ended final : RequestListener {
  void ended(Request& request) override { is_over = request.status.ok(); }
  bool is_over = false;
};

// A member that is a thread of this process, and its transports.
class Member {
 public:
  Member(const std::shared_ptr<SharedSegment>& segment, int own)
      : engine_(PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value()),
        room_(HostRoom::enter(engine_, {.segment = segment}, {.places = kPlaces, .own = own})
                  .value()) {}
  ~Member() {
    const Engine::Baton baton = engine_->hold();
    for (const auto& transport : transports_) engine_->detach(*transport);
  }

  /// A group of two, in memory at `offset`; `members` are their places.
  ShmTransport& join(const std::shared_ptr<SharedSegment>& segment, std::size_t offset,
                     std::vector<int> members) {
    Group group{.rank = members[0] == room_->own() ? 0 : 1};
    group.members.assign(2, {.host = "here"});
    transports_.push_back(make_shm_transport(room_, group,
                                             {.members = std::move(members),
                                              .part = {.segment = segment, .offset = offset},
                                              .ring_bytes = kRing})
                              .value());
    const Engine::Baton baton = engine_->hold();
    engine_->attach(*transports_.back());
    return *transports_.back();
  }
  void send(ShmTransport& over, int to, std::span<const std::byte> payload) {
    end([&](Request& request) { over.send(to, {}, payload, request); });
  }
  void receive(ShmTransport& over, int from, std::span<std::byte> buffer) {
    end([&](Request& request) { over.receive(from, buffer, request); });
  }
  HostRoom& room() { return *room_; }

 private:
  template <class Begin>
  void end(const Begin& begin) {
    Ended ended;
    Request request{.listener = &ended};
    {
      const Engine::Baton baton = engine_->hold();
      begin(request);
    }
    EXPECT_TRUE(engine_->wait([&] { return ended.is_over; }, patient()));
  }

  const std::shared_ptr<PollEngine> engine_;
  const std::shared_ptr<HostRoom> room_;
  std::vector<std::unique_ptr<ShmTransport>> transports_;
};

class HostRoomTest : public ::testing::Test {
 protected:
  const std::size_t group_bytes_ = ShmTransport::bytes_for(2, kRing);
  const std::size_t begin_ = HostRoom::bytes_for(kPlaces);
  const std::shared_ptr<SharedSegment> segment_ = std::make_shared<SharedSegment>(
      SharedSegment::create_nameless(begin_ + 2 * group_bytes_).value());
};

// Rank 0 is at place 2 in one group and at place 0 in the other. Each wait sleeps: nobody spins.
TEST_F(HostRoomTest, GroupsWakeTheirMembersByTheSameBells) {
  constexpr int kTurns = 50;
  const auto play = [&](int own) {
    Member here(segment_, own);
    ShmTransport& first = here.join(segment_, begin_, {2, 0});
    ShmTransport& second = here.join(segment_, begin_ + group_bytes_, {0, 2});
    for (int turn = 0; turn < kTurns; ++turn) {
      std::byte ball{static_cast<unsigned char>(turn)}, caught{};
      ShmTransport& over = turn % 2 == 0 ? first : second;
      const int peer = 1 - over.group().rank;
      if (over.group().rank == 0) {
        here.send(over, peer, std::span(&ball, 1));
        here.receive(over, peer, std::span(&caught, 1));
      } else {
        here.receive(over, peer, std::span(&caught, 1));
        here.send(over, peer, std::span(&ball, 1));
      }
      EXPECT_EQ(caught, ball);
    }
  };
  EXPECT_LT(time_of_two(play, 2), kTurns * PollEngine::kLongestNap / 2);
}

TEST_F(HostRoomTest, AMemberThatIsAThreadOfThisProcessHasNotLeft) {
  Member here(segment_, 0), there(segment_, 1);
  EXPECT_FALSE(here.room().has_left(1));
  EXPECT_FALSE(here.room().has_left(2)) << "who has not come may still come";
}

TEST_F(HostRoomTest, AMemoryThatIsTooSmallIsRefused) {
  const auto engine = PollEngine::create({}).value();
  for (const std::size_t offset : {begin_ + 2 * group_bytes_ - 64, std::size_t{8}, SIZE_MAX})
    EXPECT_EQ(HostRoom::enter(engine, {.segment = segment_, .offset = offset}, {.places = 2})
                  .status()
                  .code(),
              Code::kInvalidArgument);
}

}  // namespace
}  // namespace paceline::testing
