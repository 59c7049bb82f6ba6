// How the ranks of a host are told to end: by the head, or by a signal to the agent itself.
#pragma once

#include <functional>
#include <memory>

#include <paceline/status.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/system/end_requests.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/signal_source.h"

namespace paceline::launcher {

/// Before the agent forks its first process: none of them ends by a signal that a resource manager
/// sends to all processes of a job. Ranks do (reset_signals()).
void outlive_signals();

/// A resource manager that ends a job signals its agents. The ranks then get that signal from here
/// at once, and their grace; the head hears of it and ends the whole job. Belongs to the loop's
/// thread.
class RankStop {
 public:
  struct Handlers {
    std::function<void(int signal)> signal_ranks;
    std::function<void(const messages::FromAgent& message)> tell;
  };

  RankStop(EventLoop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}

  /// From here on signals to this process count, those too that came since outlive_signals().
  Status watch();
  /// There are ranks from here on. False where the agent has been asked to end: then there are to
  /// be none.
  bool begin(Duration grace);
  bool is_ending() const { return is_ending_; }
  /// The head's order. It need not repeat a signal that the ranks have got from here.
  void order(const messages::Stop& stop);

 private:
  void came(int signal);
  void signal_ranks(int signal, Duration grace);
  void tell_head(int signal);

  EventLoop& loop_;
  const Handlers handlers_;
  std::unique_ptr<SignalSource> source_;
  EndRequests requests_;
  Duration grace_{};
  bool has_ranks_ = false;
  bool is_ending_ = false;
  int asked_by_ = 0;   // the signal that came first; 0: none
  int passed_on_ = 0;  // the same, until the head orders it
};

}  // namespace paceline::launcher
