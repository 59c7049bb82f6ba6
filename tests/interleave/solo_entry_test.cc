// The steps of comm/solo_entry.h, in every order: who has closed the way finds nobody inside, and
// sees what was done there.
#include "comm/solo_entry.h"

#include <gtest/gtest.h>

#include "tests/interleave/model.h"
#include "tests/interleave/search.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kOpen = 0, kInside = 1;
constexpr std::size_t kGuarded = 0;
constexpr int kOwner = 0, kCloser = 1;

// One thread goes in and out `visits` times, each time writing what is guarded; the other closes
// the way at some time, and then writes it, too.
class Entry {
 public:
  Entry(int visits, bool has_barrier) : memory_(2, 2, 1), visits_(visits), barrier_(has_barrier) {}

  int threads() const { return 2; }
  bool ended() const { return owner_ == Owner::kDone && closer_ == Closer::kDone; }
  bool step(int thread, Choices& choices) {
    return thread == kOwner ? visit(choices) : close(choices);
  }
  std::string key() const {
    std::string key;
    memory_.append_key(key);
    key += static_cast<char>(owner_);
    key += static_cast<char>(closer_);
    key += static_cast<char>(visited_);
    return key;
  }

 private:
  enum class Owner { kLook, kEnter, kLookAgain, kWork, kLeave, kGiveUp, kDone };
  enum class Closer { kClose, kBarrier, kWait, kTake, kDone };

  // Zero is "open" here: the model's memory begins with it.
  bool is_open(Choices& choices) {
    return memory_.load_relaxed(kOwner, kOpen, choices.pick_visible(memory_, kOwner, kOpen)) == 0;
  }

  bool visit(Choices& choices) {
    switch (owner_) {
      case Owner::kLook:
        owner_ = visited_ < visits_ && is_open(choices) ? Owner::kEnter : Owner::kDone;
        return true;
      case Owner::kEnter:
        memory_.store_relaxed(kOwner, kInside, 1);
        owner_ = Owner::kLookAgain;
        return true;
      case Owner::kLookAgain:
        owner_ = is_open(choices) ? Owner::kWork : Owner::kGiveUp;
        return true;
      case Owner::kWork:
        memory_.write(kOwner, kGuarded, 1);
        owner_ = Owner::kLeave;
        return true;
      case Owner::kLeave:
        memory_.store_release(kOwner, kInside, 0);
        ++visited_;
        owner_ = Owner::kLook;
        return true;
      case Owner::kGiveUp:
        memory_.store_release(kOwner, kInside, 0);
        owner_ = Owner::kDone;
        return true;
      case Owner::kDone:
        return false;
    }
    return false;
  }

  bool close(Choices& choices) {
    switch (closer_) {
      case Closer::kClose:
        memory_.store_relaxed(kCloser, kOpen, 1);
        closer_ = Closer::kBarrier;
        return true;
      case Closer::kBarrier:
        if (barrier_) memory_.fence_everywhere(kCloser);
        closer_ = Closer::kWait;
        return true;
      case Closer::kWait:
        if (memory_.load_acquire(kCloser, kInside,
                                 choices.pick_visible(memory_, kCloser, kInside)) != 0)
          return false;
        closer_ = Closer::kTake;
        return true;
      case Closer::kTake:
        memory_.write(kCloser, kGuarded, 2);
        closer_ = Closer::kDone;
        return true;
      case Closer::kDone:
        return false;
    }
    return false;
  }

  ModelMemory memory_;
  int visits_;
  bool barrier_;
  Owner owner_ = Owner::kLook;
  Closer closer_ = Closer::kClose;
  int visited_ = 0;
};

TEST(SoloEntryModel, WhoHasClosedItFindsNobodyInside) {
  for (int visits = 1; visits <= 3; ++visits) {
    const SearchResult result = search(Entry(visits, true), 300'000);
    EXPECT_EQ(result.fault, "");
    EXPECT_TRUE(result.complete);
  }
}

TEST(SoloEntryModel, WithoutItsBarrierItDoes) {
  EXPECT_NE(search(Entry(1, false), 300'000).fault, "");
}

}  // namespace
}  // namespace paceline::testing
