// How other threads hand work to the thread of a loop.
#pragma once

#include <functional>
#include <memory>

#include <paceline/status.h>

#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread, and to the loop: it must go before the loop does. What is posted
/// when it has gone is dropped. It has no bound of its own: each sender has few letters under way.
class Mailbox {
 public:
  using Work = std::function<void()>;
  class Slot;  // what senders and the mailbox share

  /// Any thread may copy and use it, also when the mailbox has gone.
  class Sender {
   public:
    explicit Sender(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
    /// The loop's thread calls `work` later, in the order of the posts.
    void post(Work work) const;

   private:
    std::shared_ptr<Slot> slot_;  // owners: the mailbox and its senders
  };

  static Result<std::unique_ptr<Mailbox>> make(EventLoop& loop);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  Sender sender() const { return Sender(slot_); }

 private:
  Mailbox(EventLoop& loop, std::shared_ptr<Slot> slot);
  void deliver();

  EventLoop& loop_;
  std::shared_ptr<Slot> slot_;
};

}  // namespace paceline::launcher
