#include "launcher/tools/measure/probe/raw/raw_loop.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/raw/combine.h"

namespace paceline::probe {
namespace {

constexpr Duration kLimit = std::chrono::seconds(60);
constexpr std::size_t kLeastPiece = std::size_t{32} << 10;
constexpr std::size_t kOverlapping = 4;  // pieces of a message that is long enough
constexpr std::size_t kPage = 4096;
constexpr std::size_t kBlockBytes = std::size_t{16} << 10;  // stays in a first-level cache

Elements part_of(Elements whole, std::size_t begin, std::size_t count) {
  return {.data = static_cast<std::byte*>(whole.data) + begin * size_of(whole.type),
          .count = count,
          .type = whole.type};
}

// The piece-th of pieces of `length` elements; empty beyond the last.
Elements piece_of(Elements whole, std::size_t piece, std::size_t length) {
  const std::size_t begin = std::min(piece * length, whole.count);
  return part_of(whole, begin, std::min(length, whole.count - begin));
}

// Each rank's part of a piece begins on a cache line, as far as there are elements.
Elements share_of(Elements piece, int rank, int ranks) {
  constexpr std::size_t kLine = 64;
  const std::size_t per_line = kLine / size_of(piece.type);
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t length = (piece.count / parts + per_line) / per_line * per_line;
  return piece_of(piece, static_cast<std::size_t>(rank), length);
}

// Where in a slot a part of a piece lies: where it lies in the piece.
std::byte* place_in(Slot& slot, Elements piece, Elements part) {
  return slot.data() + (static_cast<std::byte*>(part.data) - static_cast<std::byte*>(piece.data));
}

std::size_t piece_bytes(std::size_t bytes) {
  return std::clamp(bytes / kOverlapping, kLeastPiece, kSlotBytes) / kPacketBytes * kPacketBytes;
}

// All but the last are full, and to copy a known number of bytes is no call.
void copy_packet(std::byte* into, const std::byte* from, std::size_t left) {
  if (left >= kPacketBytes) {
    std::memcpy(into, from, kPacketBytes);
  } else {
    std::memcpy(into, from, left);
  }
}

void write_message(Message& message, Elements from, std::uint64_t call) {
  const auto* const data = static_cast<const std::byte*>(from.data);
  const std::size_t bytes = from.bytes();
  for (std::size_t at = 0, i = 0; at < bytes; at += kPacketBytes, ++i) {
    copy_packet(message[i].data, data + at, bytes - at);
    message[i].call.store(call, std::memory_order_release);
  }
}

}  // namespace

Result<std::unique_ptr<RawLoop>> RawLoop::open(const std::string& path, Place place,
                                               const Clock& clock) {
  place.buffer_bytes = (place.buffer_bytes + kPage - 1) / kPage * kPage;
  PACELINE_TRY_ASSIGN(SharedFile file,
                      SharedFile::open(path, (sizeof(RawArea) + kPage + place.buffer_bytes) *
                                                 static_cast<std::size_t>(place.ranks)));
  std::unique_ptr<RawLoop> raw(new RawLoop(std::move(file), place, clock));
  PACELINE_TRY(raw->choose_packets(clock));
  return raw;
}

RawLoop::RawLoop(SharedFile file, Place place, const Clock& clock)
    : file_(std::move(file)),
      place_(place),
      patience_(clock, place.ranks, place.cpus),
      areas_(reinterpret_cast<RawArea*>(file_.memory().data())) {}

bool RawLoop::wait_for(const std::atomic<std::uint64_t>& count, std::uint64_t value) const {
  return patience_.wait([&] { return count.load(std::memory_order_acquire) >= value; }, kLimit);
}

Status RawLoop::late() const {
  return Status(Code::kTimeout, Scope::kGroup,
                "rank " + std::to_string(place_.rank) + " waited 60 s for another rank");
}

// Packets spare a flag's way, posts the numbers: which is faster at 1 KiB depends on how far the
// caches are apart. Rank 0's clock decides.
Status RawLoop::choose_packets(const Clock& clock) {
  if (place_.ranks > place_.cpus) return Status();  // then ranks wait for CPUs, not for caches
  constexpr std::size_t kFew = 2 * kPacketBytes;
  PACELINE_TRY_ASSIGN(const Duration packets, try_exchanges(clock, kMaxPacketed));
  PACELINE_TRY_ASSIGN(const Duration posts, try_exchanges(clock, kFew));
  std::atomic<std::uint64_t>& choice = area(0).choice.value;
  if (place_.rank == 0)
    choice.store(packets <= posts ? kMaxPacketed : kFew, std::memory_order_release);
  if (!wait_for(choice, 1)) return late();
  packeted_ = choice.load(std::memory_order_acquire);
  return Status();
}

Result<Duration> RawLoop::try_exchanges(const Clock& clock, std::size_t packeted) {
  constexpr int kBatches = 20, kCalls = 50;
  std::array<float, 256> elements{};
  const Elements out{elements.data(), elements.size(), DataType::kFloat32};
  packeted_ = packeted;
  Duration fastest = Duration::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const TimePoint begin = clock.now();
    for (int call = 0; call < kCalls; ++call)
      PACELINE_TRY(run_all_reduce(elements.data(), out, ReduceOp::kSum));
    fastest = std::min(fastest, clock.now() - begin);
  }
  return fastest;
}

Status RawLoop::run_barrier() {
  ++barriers_;
  mine().barrier.value.store(barriers_, std::memory_order_release);
  for (int rank = 0; rank < place_.ranks; ++rank)
    if (!wait_for(area(rank).barrier.value, barriers_)) return late();
  return Status();
}

Status RawLoop::run_all_reduce(const void* in, Elements out, ReduceOp op) {
  if (combiner_for(out.type, op).elements == nullptr)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "raw does not support float16, bfloat16, avg and premul_sum");
  if (out.bytes() > kPostBytes && is_in_buffers(in) && is_in_buffers(out.data))
    return reduce_in_buffers(in, out, op);
  if (in != out.data) std::memcpy(out.data, in, out.bytes());
  if (out.bytes() <= packeted_) return exchange_packets(out, op);
  if (out.bytes() <= kPostBytes) return exchange_posts(out, op);
  return reduce_pieces(out, op);
}

// Two messages are enough: nobody writes call k + 2 before it has read call k + 1 of all, which
// they wrote after they had read its call k. The same holds for the posts.
Status RawLoop::exchange_packets(Elements out, ReduceOp op) {
  const std::uint64_t call = ++exchanges_;
  const Combiner combine = combiner_for(out.type, op);
  const std::size_t per_packet = kPacketBytes / size_of(out.type);
  write_message(mine().exchanges[call % 2], out, call);
  for (std::size_t i = 0, begin = 0; begin < out.count; ++i, begin += per_packet) {
    const Elements part = part_of(out, begin, std::min(per_packet, out.count - begin));
    for (int rank = 0; rank < place_.ranks; ++rank) {
      if (rank == place_.rank) continue;
      const Packet& packet = area(rank).exchanges[call % 2][i];
      if (!wait_for(packet.call, call)) return late();
      if (part.count == per_packet) {
        combine.packet(part.data, packet.data);
      } else {
        combine.elements(part.data, packet.data, part.count);
      }
    }
  }
  return Status();
}

Status RawLoop::exchange_posts(Elements out, ReduceOp op) {
  const std::uint64_t call = ++posts_;
  const Combine combine = combiner_for(out.type, op).elements;
  std::memcpy(mine().posts[call % 2].data(), out.data, out.bytes());
  mine().posted.value.store(call, std::memory_order_release);
  for (int rank = 0; rank < place_.ranks; ++rank) {
    if (rank == place_.rank) continue;
    if (!wait_for(area(rank).posted.value, call)) return late();
    combine(out.data, area(rank).posts[call % 2].data(), out.count);
  }
  return Status();
}

// A slot is free again when it is needed: who writes piece k has collected piece k - 3, so all have
// reduced it; who reduces piece k has seen all write it, so all have collected piece k - 3.
Status RawLoop::reduce_pieces(Elements out, ReduceOp op) {
  static_assert(kSlots > 3);
  const std::size_t length = piece_bytes(out.bytes()) / size_of(out.type);
  const std::size_t pieces = (out.count + length - 1) / length;
  for (std::size_t k = 0; k < pieces + 2; ++k) {
    const std::uint64_t number = pieces_ + k + 1;
    if (k < pieces) give_piece(piece_of(out, k, length), number);
    if (k >= 1 && k - 1 < pieces && !reduce_piece(piece_of(out, k - 1, length), number - 1, op))
      return late();
    if (k >= 2 && !collect_piece(piece_of(out, k - 2, length), number - 2)) return late();
  }
  pieces_ += pieces;
  return Status();
}

void RawLoop::give_piece(Elements piece, std::uint64_t number) {
  Slot& slot = mine().parts[number % kSlots];
  for (int rank = 0; rank < place_.ranks; ++rank) {
    if (rank == place_.rank) continue;
    const Elements part = share_of(piece, rank, place_.ranks);
    std::memcpy(place_in(slot, piece, part), part.data, part.bytes());
  }
  mine().given.value.store(number, std::memory_order_release);
}

bool RawLoop::reduce_piece(Elements piece, std::uint64_t number, ReduceOp op) {
  const Combine combine = combiner_for(piece.type, op).elements;
  const Elements part = share_of(piece, place_.rank, place_.ranks);
  for (int rank = 0; rank < place_.ranks; ++rank) {
    if (rank == place_.rank) continue;
    if (!wait_for(area(rank).given.value, number)) return false;
    combine(part.data, place_in(area(rank).parts[number % kSlots], piece, part), part.count);
  }
  std::memcpy(place_in(mine().results[number % kSlots], piece, part), part.data, part.bytes());
  mine().reduced.value.store(number, std::memory_order_release);
  return true;
}

bool RawLoop::collect_piece(Elements piece, std::uint64_t number) {
  for (int rank = 0; rank < place_.ranks; ++rank) {
    if (rank == place_.rank) continue;
    if (!wait_for(area(rank).reduced.value, number)) return false;
    const Elements part = share_of(piece, rank, place_.ranks);
    std::memcpy(part.data, place_in(area(rank).results[number % kSlots], piece, part),
                part.bytes());
  }
  return true;
}

// Behind all areas.
std::byte* RawLoop::buffers(int rank) const {
  const auto ranks = static_cast<std::size_t>(place_.ranks);
  const std::size_t areas = (sizeof(RawArea) * ranks + kPage - 1) / kPage * kPage;
  return file_.memory().data() + areas + static_cast<std::size_t>(rank) * place_.buffer_bytes;
}

bool RawLoop::is_in_buffers(const void* data) const {
  const std::byte* const own = buffers(place_.rank);
  return data >= own && data < own + place_.buffer_bytes;
}

Result<std::byte*> RawLoop::allocate(std::size_t bytes) {
  if (place_.buffer_bytes == 0) return allocate_ordinary(bytes);
  std::byte* const memory = buffers(place_.rank) + allocated_bytes_;
  allocated_bytes_ += (bytes + kPage - 1) / kPage * kPage;
  if (allocated_bytes_ <= place_.buffer_bytes) return memory;
  return Status(Code::kExhausted, Scope::kProcess, "too many buffers");
}

// An array lies in the same place of each rank's buffers.
Status RawLoop::reduce_in_buffers(const void* in, Elements out, ReduceOp op) {
  const std::uint64_t call = ++reductions_;
  mine().entered.value.store(call, std::memory_order_release);
  for (int rank = 0; rank < place_.ranks; ++rank)
    if (!wait_for(area(rank).entered.value, call)) return late();
  const auto there = [&](const void* own, int rank) {
    return buffers(rank) + (static_cast<const std::byte*>(own) - buffers(place_.rank));
  };
  const Combine combine = combiner_for(out.type, op).elements;
  const Elements share = share_of(out, place_.rank, place_.ranks);
  const std::size_t length = kBlockBytes / size_of(out.type);
  for (std::size_t begin = 0; begin < share.count; begin += length) {
    const Elements block = part_of(share, begin, std::min(length, share.count - begin));
    const std::size_t at = static_cast<std::size_t>(static_cast<std::byte*>(block.data) -
                                                    static_cast<std::byte*>(out.data));
    const auto* const own = static_cast<const std::byte*>(in) + at;
    if (in != out.data) std::memcpy(block.data, own, block.bytes());
    for (int rank = 0; rank < place_.ranks; ++rank)
      if (rank != place_.rank) combine(block.data, there(own, rank), block.count);
    for (int rank = 0; rank < place_.ranks; ++rank)
      if (rank != place_.rank) std::memcpy(there(block.data, rank), block.data, block.bytes());
  }
  mine().left.value.store(call, std::memory_order_release);
  for (int rank = 0; rank < place_.ranks; ++rank)
    if (!wait_for(area(rank).left.value, call)) return late();
  return Status();
}

Status RawLoop::run_broadcast(Elements buffer, int root) {
  if (buffer.bytes() <= kMaxPacketed)
    return place_.rank == root ? send_letter(buffer) : read_letter(buffer, root);
  return place_.rank == root ? send_pieces(buffer) : receive_pieces(buffer, root);
}

// Whether everybody has done with all up to `number`. A root has done with what it has sent.
bool RawLoop::all_received(std::uint64_t number) {
  for (int rank = 0; rank < place_.ranks; ++rank)
    if (!wait_for(area(rank).received.value, number)) return false;
  return true;
}

Status RawLoop::send_letter(Elements buffer) {
  const std::uint64_t number = ++broadcasts_;
  mine().received.value.store(number, std::memory_order_release);
  if (number > kLetters && !all_received(number - kLetters)) return late();
  write_message(mine().letters[number % kLetters], buffer, number);
  return Status();
}

Status RawLoop::read_letter(Elements buffer, int root) {
  const std::uint64_t number = ++broadcasts_;
  const Message& letter = area(root).letters[number % kLetters];
  auto* const data = static_cast<std::byte*>(buffer.data);
  for (std::size_t at = 0, i = 0; at < buffer.bytes(); at += kPacketBytes, ++i) {
    if (!wait_for(letter[i].call, number)) return late();
    copy_packet(data + at, letter[i].data, buffer.bytes() - at);
  }
  mine().received.value.store(number, std::memory_order_release);
  return Status();
}

Status RawLoop::send_pieces(Elements buffer) {
  const std::size_t length = piece_bytes(buffer.bytes()) / size_of(buffer.type);
  for (std::size_t k = 0; k * length < buffer.count; ++k) {
    const std::uint64_t number = ++broadcasts_;
    const Elements piece = piece_of(buffer, k, length);
    mine().received.value.store(number, std::memory_order_release);
    if (number > kSlots && !all_received(number - kSlots)) return late();
    std::memcpy(mine().parcels[number % kSlots].data(), piece.data, piece.bytes());
    mine().sent.value.store(number, std::memory_order_release);
  }
  return Status();
}

Status RawLoop::receive_pieces(Elements buffer, int root) {
  const std::size_t length = piece_bytes(buffer.bytes()) / size_of(buffer.type);
  for (std::size_t k = 0; k * length < buffer.count; ++k) {
    const std::uint64_t number = ++broadcasts_;
    const Elements piece = piece_of(buffer, k, length);
    if (!wait_for(area(root).sent.value, number)) return late();
    std::memcpy(piece.data, area(root).parcels[number % kSlots].data(), piece.bytes());
    mine().received.value.store(number, std::memory_order_release);
  }
  return Status();
}

}  // namespace paceline::probe
