// One message between two ranks, as Communicator::exchange() takes many of them.
#pragma once

#include <cstddef>

#include <paceline/types.h>

namespace paceline {

/// Its buffer has `count` elements of `type`, at any address, and may be null where that is zero.
struct Message {
  const void* in = nullptr;  ///< of one that is sent
  void* out = nullptr;       ///< of one that is received
  std::size_t count = 0;
  int peer = -1;  ///< the rank that it goes to, or comes from
  DataType type{};
  bool is_sent = false;

  static Message sent(const void* in, std::size_t count, DataType type, int peer) {
    return {.in = in, .count = count, .peer = peer, .type = type, .is_sent = true};
  }
  static Message received(void* out, std::size_t count, DataType type, int peer) {
    return {.out = out, .count = count, .peer = peer, .type = type};
  }
};

}  // namespace paceline
