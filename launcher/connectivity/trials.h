// The agent's part before a job of several hosts starts: it says what its host is, lets itself be
// tried, and tries the addresses of the others that the head names, all at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <paceline/status.h>

#include "comm/job_key.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/connectivity/trial.h"
#include "launcher/connectivity/trial_server.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class Trials {
 public:
  /// A lost first packet is sent again after 1 s, and after another 2 s.
  static constexpr Duration kPatience = std::chrono::milliseconds(3250);
  /// A host that is busy is slow, but not silent: where some trial has ended well in this time the
  /// others go on, up to kMostPatience in all.
  static constexpr Duration kStill = std::chrono::milliseconds(500);
  static constexpr Duration kMostPatience = std::chrono::seconds(10);
  static constexpr std::size_t kMaxTargets = 1 << 16;
  static constexpr std::size_t kMostAtOnce = 128;

  using Tell = std::function<void(const messages::FromAgent&)>;

  Trials(EventLoop& loop, Tell tell) : loop_(loop), tell_(std::move(tell)) {}
  ~Trials() { end(); }
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  /// Takes a Survey or a Try.
  Status receive(const messages::ToAgent& message);
  /// The job starts: nobody tries any more, and the port is closed.
  void end();

 private:
  struct UnderWay {
    std::uint32_t target = 0;
    TimePoint began{};
    std::unique_ptr<TrialDial> dial;
  };

  Status survey(const messages::Survey& survey);
  Status start(messages::Try order);
  void start_more();
  void start_one(std::uint32_t target);
  void ended(std::list<UnderWay>::iterator trial, messages::TrialEnd how);
  void note(std::uint32_t target, messages::TrialEnd how);
  void give_up_late();
  void report();
  bool all_done() const;

  EventLoop& loop_;
  const Tell tell_;
  std::uint32_t host_index_ = 0;
  std::optional<JobKey> key_;
  std::unique_ptr<TrialServer> server_;
  messages::Try order_;
  int next_ = 0;                   // of the targets
  std::vector<std::size_t> left_;  // trials by wave
  TimePoint began_{};
  TimePoint moved_{};              // when the last one ended well
  std::list<UnderWay> under_way_;  // the oldest first
  messages::FromAgent tried_;      // what is to be told next
  bool unanswered_ = false;        // some first packet was
  std::optional<EventLoop::TimerId> late_;
  std::optional<EventLoop::TimerId> go_on_;
};

}  // namespace paceline::launcher
