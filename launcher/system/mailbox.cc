#include "launcher/system/mailbox.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

class Mailbox::Slot {
 public:
  explicit Slot(UniqueFd event) : event_(std::move(event)) {}

  int event() const { return event_.get(); }

  void put(Work work) {
    const std::lock_guard guard(mutex_);
    if (closed_) return;
    letters_.push_back(std::move(work));
    constexpr std::uint64_t kOne = 1;
    // It fails only where nobody has read for 2^64 letters.
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &kOne, sizeof kOne);
  }

  std::vector<Work> take() {
    const std::lock_guard guard(mutex_);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
    return std::exchange(letters_, {});
  }

  // What lies here may own what has to go with the loop's thread.
  std::vector<Work> close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    return std::exchange(letters_, {});
  }

 private:
  const UniqueFd event_;
  std::mutex mutex_;  // of what follows
  std::vector<Work> letters_;
  bool closed_ = false;
};

void Mailbox::Sender::post(Work work) const { slot_->put(std::move(work)); }

Result<std::unique_ptr<Mailbox>> Mailbox::make(EventLoop& loop) {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return system_error("make an event descriptor");
  return std::unique_ptr<Mailbox>(new Mailbox(loop, std::make_shared<Slot>(std::move(event))));
}

Mailbox::Mailbox(EventLoop& loop, std::shared_ptr<Slot> slot)
    : loop_(loop), slot_(std::move(slot)) {
  loop_.when_readable(slot_->event(), [this] { deliver(); });
}

Mailbox::~Mailbox() {
  loop_.forget_readable(slot_->event());
  slot_->close();
}

// A letter may be the end of this mailbox, so nothing of it is touched once they are taken.
void Mailbox::deliver() {
  const std::shared_ptr<Slot> slot = slot_;
  for (const Work& work : slot->take()) work();
}

}  // namespace paceline::launcher
