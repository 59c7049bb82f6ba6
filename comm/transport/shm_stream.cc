#include "comm/transport/shm_stream.h"

namespace paceline {

Transfer ShmStream::write(std::span<const ByteView> parts) {
  if (gone_ || reader_.writer_has_closed()) return {.state = StreamState::kClosed};
  if (written_ >= turn_bytes_) return {};
  const Transfer written = writer_.write(parts);
  if (written.state == StreamState::kBroken) error_ = writer_.error();
  if (written.state != StreamState::kMoved) return written;
  written_ += written.bytes;
  bell_.ring();
  return written;
}

Transfer ShmStream::read(std::span<const std::span<std::byte>> parts) {
  if (read_ >= turn_bytes_) return {};
  Transfer got = reader_.read(parts);
  if (got.state == StreamState::kBroken) error_ = reader_.error();
  if (got.state == StreamState::kIdle && gone_) got.state = StreamState::kClosed;
  read_ += got.bytes;
  if (reader_.has_made_room()) bell_.ring();
  return got;
}

void ShmStream::close() {
  writer_.close();
  bell_.ring();
}

}  // namespace paceline
