#include "comm/handshake.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace paceline {
namespace {

constexpr std::uint32_t kChallengeMagic = 0x31634C50;  // "PLc1"
constexpr std::uint32_t kRefusalMagic = 0x31724C50;    // "PLr1"
constexpr std::uint32_t kHelloMagic = 0x31684C50;      // "PLh1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMacBytes = Mac().size();

Status denied(const char* why) {
  return Status(Code::kDenied, Scope::kPeer, std::string("handshake: ") + why);
}

void append(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

}  // namespace

std::array<std::byte, kChallengeBytes> refusal_without_descriptors() {
  std::array<std::byte, kChallengeBytes> refusal{};
  std::memcpy(refusal.data(), &kRefusalMagic, sizeof kRefusalMagic);
  return refusal;
}

AcceptorHandshake::AcceptorHandshake(const JobKey& key, const Nonce& nonce) : key_(key) {
  ByteWriter writer(challenge_);
  writer.put(kChallengeMagic);
  writer.put(kVersion);
  writer.put_bytes(nonce);
}

Result<Hello> AcceptorHandshake::read_hello(ByteView bytes) {
  if (bytes.size() != kHelloBytes) return denied("the hello has the wrong length");
  transcript_ = challenge_;
  append(transcript_, bytes.first(kHelloBytes - kMacBytes));
  if (!key_.verify(kHelloPurpose, transcript_, bytes.last(kMacBytes))) {
    return denied("the peer does not have this job's key");
  }
  ByteReader reader(bytes);
  const auto magic = reader.get<std::uint32_t>();
  Hello hello;
  hello.epoch = reader.get<std::uint32_t>();
  hello.from = reader.get<std::int32_t>();
  hello.to = reader.get<std::int32_t>();
  hello.group = reader.get<std::uint64_t>();
  const auto purpose = reader.get<std::uint64_t>();
  if (magic != kHelloMagic || purpose > static_cast<std::uint64_t>(Purpose::kSealedData)) {
    return denied("the peer uses another version of the protocol");
  }
  hello.purpose = static_cast<Purpose>(purpose);
  return hello;
}

std::array<std::byte, kWelcomeBytes> AcceptorHandshake::welcome(Verdict verdict) const {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(static_cast<std::uint64_t>(verdict));
  Bytes proven = transcript_;
  append(proven, bytes);
  writer.put_bytes(key_.prove(kWelcomePurpose, proven));
  std::array<std::byte, kWelcomeBytes> welcome{};
  std::copy(bytes.begin(), bytes.end(), welcome.begin());
  return welcome;
}

DialerHandshake::DialerHandshake(const JobKey& key, const Hello& hello, const Nonce& nonce)
    : key_(key), hello_(hello), nonce_(nonce) {}

Result<Bytes> DialerHandshake::answer(ByteView challenge) {
  ByteReader reader(challenge);
  const auto magic = reader.get<std::uint32_t>();
  if (magic == kRefusalMagic)
    return Status(Code::kExhausted, Scope::kPeer,
                  "the process there has no file descriptors left (ulimit -n)");
  if (magic != kChallengeMagic) return denied("the peer does not speak the protocol of Paceline");
  if (reader.get<std::uint32_t>() != kVersion)
    return denied("the peer uses another version of the protocol");
  if (reader.take(nonce_.size()).empty() || !reader.complete())
    return denied("the challenge has the wrong length");
  Bytes hello;
  ByteWriter writer(hello);
  writer.put(kHelloMagic);
  writer.put(hello_.epoch);
  writer.put(hello_.from);
  writer.put(hello_.to);
  writer.put(hello_.group);
  writer.put(static_cast<std::uint64_t>(hello_.purpose));
  writer.put_bytes(nonce_);
  transcript_.assign(challenge.begin(), challenge.end());
  append(transcript_, hello);
  writer.put_bytes(key_.prove(kHelloPurpose, transcript_));
  return hello;
}

Result<Verdict> DialerHandshake::read_welcome(ByteView bytes) const {
  constexpr std::size_t kVerdictBytes = kWelcomeBytes - kMacBytes;
  if (bytes.size() != kWelcomeBytes) return denied("the welcome has the wrong length");
  Bytes proven = transcript_;
  append(proven, bytes.first(kVerdictBytes));
  if (!key_.verify(kWelcomePurpose, proven, bytes.last(kMacBytes))) {
    return denied("the peer does not have this job's key");
  }
  ByteReader reader(bytes);
  const auto verdict = reader.get<std::uint64_t>();
  if (verdict > static_cast<std::uint64_t>(Verdict::kHasLeft))
    return denied("the welcome has an unknown verdict");
  return static_cast<Verdict>(verdict);
}

}  // namespace paceline
