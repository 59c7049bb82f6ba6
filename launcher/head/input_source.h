// The head's standard input, on its way to a rank of another host.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Reads as far as the rank does: at most 64 KiB are under way. Of a terminal it takes nothing
/// while another process group is in the foreground, where to read would stop this one. Belongs to
/// the loop's thread.
class InputSource {
 public:
  using Send = std::function<void(std::string_view text, bool ends)>;

  /// Borrows the descriptor, and leaves its flags alone.
  InputSource(EventLoop& loop, int fd, Send send);
  ~InputSource();
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;

  /// The rank's pipe has taken so many bytes, or takes no more.
  void taken(std::size_t bytes, bool closed);

 private:
  void read_on();
  void read_some();

  EventLoop& loop_;
  const int fd_;
  const Send send_;
  std::size_t under_way_bytes_ = 0;
  bool ended_ = false;
  std::optional<EventLoop::TimerId> later_;  // while another has the terminal
};

}  // namespace paceline::launcher
