#include "comm/transport/sealed_stream.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "comm/exit.h"

namespace paceline {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kFrameBytes = kLengthBytes + SealedStream::kTagBytes;
constexpr std::size_t kNonceBytes = 12;

const unsigned char* bytes_of(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

// Once exit handlers run, OpenSSL may be gone, and the process goes anyway.
void SealedStream::FreeContext::operator()(evp_cipher_ctx_st* context) const {
  if (const UseBeforeExit use; use) ::EVP_CIPHER_CTX_free(context);
}

SealedStream::SealedStream(std::unique_ptr<ByteStream> inner, const Mac& secret)
    : inner_(std::move(inner)) {
  const UseBeforeExit use;
  if (!use) return;
  context_.reset(::EVP_CIPHER_CTX_new());
  // AES-128 takes the first half of the secret.
  if (context_ != nullptr && ::EVP_EncryptInit_ex(context_.get(), ::EVP_aes_128_gcm(), nullptr,
                                                  bytes_of(secret.data()), nullptr) != 1)
    context_.reset();
}

SealedStream::~SealedStream() = default;

// Writes the tag of the next record. It returns false if the process is exiting and OpenSSL cannot
// be used any more.
bool SealedStream::tag(ByteView text, std::byte* to) {
  const UseBeforeExit use;
  if (context_ == nullptr || !use) return false;
  std::array<unsigned char, kNonceBytes> nonce{};
  std::memcpy(nonce.data(), &records_, sizeof records_);
  ++records_;
  EVP_CIPHER_CTX* const context = context_.get();
  int ignored = 0;
  unsigned char none = 0;
  return ::EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
         ::EVP_EncryptUpdate(context, nullptr, &ignored, bytes_of(text.data()),
                             static_cast<int>(text.size())) == 1 &&
         ::EVP_EncryptFinal_ex(context, &none, &ignored) == 1 &&
         ::EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, to) == 1;
}

Transfer SealedStream::broken(const char* why) {
  error_ = Status(Code::kPeerLost, Scope::kGroup, why);
  return {.state = StreamState::kBroken};
}

Transfer SealedStream::write(std::span<const ByteView> parts) {
  if (!error_.ok()) return {.state = StreamState::kBroken};
  if (has_unsent()) {
    const Transfer sent = send_outgoing();
    if (has_unsent() || sent.state == StreamState::kBroken || parts.empty())
      return {.state = sent.state == StreamState::kMoved ? StreamState::kIdle : sent.state};
  }
  if (parts.empty()) return {};
  outgoing_.resize(kLengthBytes);
  sent_ = 0;
  for (const ByteView part : parts) {
    const std::size_t room = kLengthBytes + kMaxRecordBytes - outgoing_.size();
    const ByteView taken = part.first(std::min(part.size(), room));
    outgoing_.insert(outgoing_.end(), taken.begin(), taken.end());
  }
  const std::size_t data = outgoing_.size() - kLengthBytes;
  const auto length = static_cast<std::uint32_t>(data);
  std::memcpy(outgoing_.data(), &length, sizeof length);
  std::array<std::byte, kTagBytes> proof;
  if (!tag(outgoing_, proof.data())) {
    outgoing_.clear();
    return broken("data cannot be sealed any more, because the process exits");
  }
  outgoing_.insert(outgoing_.end(), proof.begin(), proof.end());
  const Transfer sent = send_outgoing();
  if (sent.state == StreamState::kBroken) return sent;
  return {.state = StreamState::kMoved, .bytes = data};
}

Transfer SealedStream::send_outgoing() {
  Transfer last;
  while (has_unsent()) {
    const ByteView rest = ByteView(outgoing_).subspan(sent_);
    last = inner_->write(std::span(&rest, 1));
    if (last.state != StreamState::kMoved) return last;
    sent_ += last.bytes;
  }
  return last;
}

Transfer SealedStream::read(std::span<const std::span<std::byte>> parts) {
  if (!error_.ok()) return {.state = StreamState::kBroken};
  while (opened_ == 0) {
    if (open_record()) break;
    if (!error_.ok()) return {.state = StreamState::kBroken};
    const Transfer received = receive_more();
    if (received.state != StreamState::kMoved) return received;
  }
  std::size_t moved = 0;
  for (const std::span<std::byte> part : parts) {
    const std::size_t taken = std::min(part.size(), opened_ - moved);
    std::memcpy(part.data(), incoming_.data() + begin_ + moved, taken);
    moved += taken;
  }
  begin_ += moved;
  opened_ -= moved;
  if (opened_ == 0) begin_ += kTagBytes;
  const bool was_all = held_bytes() == 0 && inner_has_no_more_;
  return {.state = StreamState::kMoved, .bytes = moved, .was_all = was_all};
}

// Reads at most the rest of one record.
Transfer SealedStream::receive_more() {
  if (incoming_.empty()) incoming_.resize(kFrameBytes + kMaxRecordBytes);
  if (begin_ > 0) std::memmove(incoming_.data(), incoming_.data() + begin_, held_bytes());
  end_ -= std::exchange(begin_, 0);
  const std::span<std::byte> room = std::span(incoming_).subspan(end_);
  const Transfer received = inner_->read(std::span(&room, 1));
  end_ += received.bytes;
  inner_has_no_more_ = received.state != StreamState::kMoved || received.was_all;
  return received;
}

// Verifies the record that has come first. False where it is not there in full, or is not what was
// sent: error_.
bool SealedStream::open_record() {
  const ByteView held = ByteView(incoming_).subspan(begin_, held_bytes());
  if (held.size() < kLengthBytes) return false;
  std::uint32_t length = 0;
  std::memcpy(&length, held.data(), sizeof length);
  if (length == 0 || length > kMaxRecordBytes)
    return broken("a record of the rank has an impossible length: its data was changed on the way"),
           false;
  if (held.size() < kFrameBytes + length) return false;
  const ByteView sealed = held.first(kLengthBytes + length);
  std::array<std::byte, kTagBytes> expected;
  if (!tag(sealed, expected.data()))
    return broken("data cannot be verified any more, because the process exits"), false;
  if (::CRYPTO_memcmp(expected.data(), held.data() + sealed.size(), kTagBytes) != 0)
    return broken("data was changed, left out or repeated on its way from the rank"), false;
  begin_ += kLengthBytes;
  opened_ = length;
  return true;
}

}  // namespace paceline
