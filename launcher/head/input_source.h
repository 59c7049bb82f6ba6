// The head's standard input, on its way to a rank: from a terminal, or to another host.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "launcher/channel/messages.pb.h"
#include "launcher/head/user_terminal.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Reads as far as the rank does: at most 64 KiB are under way. A terminal is read only while it
/// is this process's to read (user_terminal.h). Belongs to the loop's thread.
class InputSource {
 public:
  using Send = std::function<void(const messages::ToAgent& input)>;

  /// Borrows the descriptor, and leaves its flags alone.
  InputSource(EventLoop& loop, int fd, Send send);
  ~InputSource();
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;

  /// The rank's pipe has taken so many bytes, or takes no more.
  void taken(std::size_t bytes, bool closed);
  /// Gives a terminal back, until resume().
  void pause();
  void resume();
  void tell_window_size();

 private:
  void read_on();
  void read_some();
  bool send_typed_ahead();  // true: there was some
  void send_on(std::string text);

  EventLoop& loop_;
  const int fd_;
  const Send send_;
  std::size_t under_way_bytes_ = 0;
  bool ended_ = false;
  bool paused_ = false;
  std::optional<UserTerminal> terminal_;     // until the rank takes no more
  std::optional<EventLoop::TimerId> later_;  // while another has the terminal
};

}  // namespace paceline::launcher
