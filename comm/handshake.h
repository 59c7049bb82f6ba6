// How a connection begins: both sides prove that they hold the job's key before anything else is
// parsed. Pure state machines over fixed-size records; who owns the socket feeds them bytes.
//
//   acceptor                          dialer
//     challenge: nonce            →
//                                 ←     hello: who, to whom, which group and epoch, nonce, proof
//     welcome: verdict, proof     →
//
// Each proof covers everything said so far on this connection, so nothing of it can be replayed on
// another connection, for another purpose or in another job. The acceptor checks the proof over
// the hello's raw bytes before it reads a field.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <paceline/status.h>

#include "comm/bytes.h"
#include "comm/job_key.h"

namespace paceline {

inline constexpr std::size_t kChallengeBytes = 40;
inline constexpr std::size_t kHelloBytes = 96;
inline constexpr std::size_t kWelcomeBytes = 40;

/// What the two proofs are bound to beside what was said (JobKey::prove), so that neither can stand
/// for the other.
inline constexpr std::string_view kHelloPurpose = "paceline hello";
inline constexpr std::string_view kWelcomePurpose = "paceline welcome";
inline constexpr std::string_view kSecretPurpose = "paceline secret";

enum class Purpose : std::uint8_t {
  kData,
  kStore,
  kTrial,       ///< the launcher tries an address before the job starts
  kCheck,       ///< `paceline check` measures the way between two hosts
  kSealedData,  ///< kData as the records of comm/transport/sealed_stream.h
};
enum class Verdict : std::uint8_t {
  kAccepted,
  kNotMeant,        ///< the acceptor is another than the dialer means
  kOtherIntegrity,  ///< one of the two seals its data, and the other does not
  kHasLeft,         ///< the acceptor's process is not, or no longer, in the group
};

/// What a dialer says about itself.
struct Hello {
  Purpose purpose = Purpose::kData;
  std::uint32_t epoch = 0;
  std::int32_t from = -1;
  std::int32_t to = -1;
  std::uint64_t group = 0;  ///< digest of the group's name (comm/base/digest.h)

  bool operator==(const Hello&) const = default;
};

/// An acceptor sends this instead of a challenge if its process has no file descriptor left for the
/// connection. The dialer's answer() returns the error.
std::array<std::byte, kChallengeBytes> refusal_without_descriptors();

class AcceptorHandshake {
 public:
  using Nonce = std::array<std::byte, 32>;

  /// The key is borrowed. `nonce` is fresh randomness.
  AcceptorHandshake(const JobKey& key, const Nonce& nonce);

  /// To be sent first.
  ByteView challenge() const { return challenge_; }
  /// Takes the dialer's kHelloBytes; an error means: close, say nothing.
  Result<Hello> read_hello(ByteView bytes);
  /// To be sent last, after a good hello.
  std::array<std::byte, kWelcomeBytes> welcome(Verdict verdict) const;
  /// A secret that only the two ends know, different for each connection. After a good hello.
  Mac secret() const { return key_.prove(kSecretPurpose, transcript_); }

 private:
  const JobKey& key_;
  Bytes challenge_;
  Bytes transcript_;
};

class DialerHandshake {
 public:
  using Nonce = AcceptorHandshake::Nonce;

  DialerHandshake(const JobKey& key, const Hello& hello, const Nonce& nonce);

  /// Takes the acceptor's kChallengeBytes and returns the hello to send. Code::kExhausted if the
  /// acceptor has no file descriptor left.
  Result<Bytes> answer(ByteView challenge);
  /// Takes the acceptor's kWelcomeBytes.
  Result<Verdict> read_welcome(ByteView bytes) const;
  /// Returns the same value as AcceptorHandshake::secret().
  Mac secret() const { return key_.prove(kSecretPurpose, transcript_); }

 private:
  const JobKey& key_;
  const Hello hello_;
  const Nonce nonce_;
  Bytes transcript_;
};

}  // namespace paceline
