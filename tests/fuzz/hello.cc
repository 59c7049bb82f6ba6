// How a connection begins, from both sides. The first byte chooses what the rest is tried as; in
// two of the forms the proof is made with the right key, so that the parser behind it is reached
// too. What is accepted must be what the other side would have said, byte for byte.

#include <algorithm>

#include "comm/base/assert.h"
#include "comm/handshake.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/known_key.h"

namespace paceline {
namespace {

using fuzz::joined;

constexpr std::size_t kMacBytes = Mac().size();
constexpr std::size_t kUnprovenHelloBytes = kHelloBytes - kMacBytes;
constexpr Hello kHello{.purpose = Purpose::kStore, .epoch = 1, .from = 2, .to = 3, .group = 4};

const JobKey& key() {
  static const JobKey known = fuzz::make_known_key();
  return known;
}

AcceptorHandshake::Nonce nonce_of(ByteView bytes) {
  AcceptorHandshake::Nonce nonce{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), nonce.size()), nonce.begin());
  return nonce;
}

bool same(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void try_hello(ByteView bytes) {
  AcceptorHandshake acceptor(key(), {});
  const Result<Hello> hello = acceptor.read_hello(bytes);
  if (!hello.ok()) return;
  const ByteView nonce = bytes.subspan(kUnprovenHelloBytes - 32, 32);
  DialerHandshake dialer(key(), *hello, nonce_of(nonce));
  PACELINE_ASSERT(same(dialer.answer(acceptor.challenge()).value(), bytes));
}

void try_proven_hello(ByteView bytes) {
  const ByteView fields = bytes.first(std::min(bytes.size(), kUnprovenHelloBytes));
  const AcceptorHandshake acceptor(key(), {});
  const Mac proof = key().prove(kHelloPurpose, joined(acceptor.challenge(), fields));
  try_hello(joined(fields, proof));
}

void try_challenge(ByteView bytes) {
  DialerHandshake dialer(key(), kHello, {});
  const Result<Bytes> answer = dialer.answer(bytes);
  if (!answer.ok()) return;
  AcceptorHandshake acceptor(key(), nonce_of(bytes.last(32)));
  PACELINE_ASSERT(same(acceptor.challenge(), bytes));
  PACELINE_ASSERT(acceptor.read_hello(*answer).value() == kHello);
}

void try_welcome(ByteView bytes, bool proven) {
  AcceptorHandshake acceptor(key(), {});
  DialerHandshake dialer(key(), kHello, {});
  const Bytes hello = dialer.answer(acceptor.challenge()).value();
  PACELINE_ASSERT(acceptor.read_hello(hello).ok());
  Bytes welcome(bytes.begin(), bytes.end());
  if (proven) {
    welcome.resize(std::min(welcome.size(), kWelcomeBytes - kMacBytes));
    const Bytes said = joined(acceptor.challenge(), ByteView(hello).first(kUnprovenHelloBytes));
    welcome = joined(welcome, key().prove(kWelcomePurpose, joined(said, welcome)));
  }
  const Result<Verdict> verdict = dialer.read_welcome(welcome);
  if (verdict.ok()) PACELINE_ASSERT(same(acceptor.welcome(*verdict), welcome));
}

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::fuzz::FuzzInput input(data, size);
  switch (input.byte() % 5) {
    case 0:
      paceline::try_hello(input.rest());
      break;
    case 1:
      paceline::try_proven_hello(input.rest());
      break;
    case 2:
      paceline::try_challenge(input.rest());
      break;
    case 3:
      paceline::try_welcome(input.rest(), false);
      break;
    default:
      paceline::try_welcome(input.rest(), true);
  }
  return 0;
}
