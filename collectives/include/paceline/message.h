// One of the messages that Communicator::exchange() sends and receives.
//
// Example:
//   using paceline::Message, paceline::DataType;
//   float in = 1, out = 0;  // sends to rank `next`, receives from rank `previous`
//   const Message messages[] = {Message::sent(&in, 1, DataType::kFloat32, next),
//                               Message::received(&out, 1, DataType::kFloat32, previous)};
//   world.exchange(messages).value();
#pragma once

#include <cstddef>

#include <paceline/types.h>

namespace paceline {

/// The buffer is borrowed until the operation has ended: `count` elements of `type`, with any
/// alignment, or null if count is 0.
struct Message {
  const void* in = nullptr;  ///< the buffer of a sent message
  void* out = nullptr;       ///< the buffer of a received message
  std::size_t count = 0;
  int peer = -1;  ///< the destination or the source rank
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
