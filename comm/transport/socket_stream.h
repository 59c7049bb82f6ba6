// A connected socket as a stream of bytes.
#pragma once

#include "comm/transport/byte_stream.h"

namespace paceline {

class SocketStream final : public ByteStream {
 public:
  /// The descriptor is borrowed, connected and non-blocking.
  explicit SocketStream(int fd) : fd_(fd) {}

  /// Each a single system call, whatever the number of parts.
  Transfer write(std::span<const ByteView> parts) override;
  /// Less than was asked for is all that was there, but for the end of the stream: epoll(7).
  Transfer read(std::span<const std::span<std::byte>> parts) override;
  const Status& error() const override { return error_; }

 private:
  Transfer result(const char* what, ssize_t moved);

  const int fd_;
  Status error_;
};

}  // namespace paceline
