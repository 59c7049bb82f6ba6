// The doorbell of comm/doorbell.h, in every order: whoever sleeps when something has been written
// for it is woken.
#include "comm/doorbell.h"

#include <gtest/gtest.h>

#include "tests/interleave/model.h"
#include "tests/interleave/search.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kFlag = 0, kAsleep = 1;
constexpr int kWriter = 0, kSleeper = 1;

// Who passes a fence between its own write and its look at the other's.
enum class Fences { kNobody, kBoth, kSleeperForBoth };

// One thread writes `writes` times and rings each time; the other waits for all of it.
class Bell {
 public:
  Bell(std::uint64_t writes, Fences fences) : memory_(2, 2, 0), writes_(writes), fences_(fences) {}

  int threads() const { return 2; }
  bool ended() const { return written_ == writes_ && sleeper_ == Sleeper::kDone; }
  bool step(int thread, Choices& choices) {
    return thread == kWriter ? write(choices) : wait(choices);
  }
  std::string key() const {
    std::string key;
    memory_.append_key(key);
    key += static_cast<char>(writer_);
    key += static_cast<char>(sleeper_);
    key += static_cast<char>(written_);
    return key;
  }

 private:
  enum class Writer { kStore, kFence, kLook, kExchange };
  enum class Sleeper { kLieDown, kFence, kLook, kSleep, kSleeping, kRise, kDone };

  std::uint64_t load(int thread, std::size_t location, Choices& choices) {
    return memory_.load_relaxed(thread, location, choices.pick_visible(memory_, thread, location));
  }
  void fence(int thread) {
    if (fences_ == Fences::kBoth) memory_.fence_seq_cst(thread);
    if (fences_ == Fences::kSleeperForBoth && thread == kSleeper) memory_.fence_everywhere(thread);
  }

  bool write(Choices& choices) {
    if (written_ == writes_) return false;
    switch (writer_) {
      case Writer::kStore:
        memory_.store_release(kWriter, kFlag, written_ + 1);
        writer_ = Writer::kFence;
        break;
      case Writer::kFence:
        fence(kWriter);
        writer_ = Writer::kLook;
        break;
      case Writer::kLook:
        writer_ = Writer::kExchange;
        if (load(kWriter, kAsleep, choices) == 0) next_write();
        break;
      case Writer::kExchange:
        if (memory_.exchange_relaxed(kWriter, kAsleep, 0) != 0) wake();
        next_write();
        break;
    }
    return true;
  }
  void next_write() {
    writer_ = Writer::kStore;
    ++written_;
  }
  void wake() {
    if (sleeper_ == Sleeper::kSleeping) sleeper_ = Sleeper::kRise;
  }

  bool wait(Choices& choices) {
    switch (sleeper_) {
      case Sleeper::kLieDown:
        memory_.store_relaxed(kSleeper, kAsleep, 1);
        sleeper_ = Sleeper::kFence;
        return true;
      case Sleeper::kFence:
        fence(kSleeper);
        sleeper_ = Sleeper::kLook;
        return true;
      case Sleeper::kLook:
        sleeper_ = load(kSleeper, kFlag, choices) == writes_ ? Sleeper::kDone : Sleeper::kSleep;
        return true;
      case Sleeper::kSleep:  // futex(2) compares under a lock that the waker takes
        sleeper_ = memory_.last(kAsleep) == 1 ? Sleeper::kSleeping : Sleeper::kRise;
        return true;
      case Sleeper::kRise:
        memory_.store_relaxed(kSleeper, kAsleep, 0);
        sleeper_ = Sleeper::kLieDown;
        return true;
      case Sleeper::kSleeping:
      case Sleeper::kDone:
        return false;
    }
    return false;
  }

  ModelMemory memory_;
  std::uint64_t writes_;
  Fences fences_;
  Writer writer_ = Writer::kStore;
  Sleeper sleeper_ = Sleeper::kLieDown;
  std::uint64_t written_ = 0;
};

TEST(DoorbellModel, NobodySleepsOverWhatWasWritten) {
  for (const Fences fences : {Fences::kBoth, Fences::kSleeperForBoth}) {
    for (std::uint64_t writes = 1; writes <= 3; ++writes) {
      const SearchResult result = search(Bell(writes, fences), 300'000);
      EXPECT_EQ(result.fault, "");
      EXPECT_TRUE(result.complete);
    }
  }
}

TEST(DoorbellModel, WithoutItsFencesSomebodyDoes) {
  EXPECT_EQ(search(Bell(1, Fences::kNobody), 300'000).fault, "nobody can go on");
}

}  // namespace
}  // namespace paceline::testing
