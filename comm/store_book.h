// The rendezvous store without its sockets. Input: the bytes that each client has sent. Output: the
// bytes to send to it. A pure state machine, so that its rules can be tested byte by byte.
//
//   StoreBook book;
//   const StoreBook::ClientId client = book.admit();
//   book.receive(client, bytes);                     // whole requests are served, the rest waits
//   const ByteView answers = book.unsent(client);
//   book.sent(client, answers.size());
//
// A key belongs to the client that sets it, and is erased when that client goes. So a rank that
// fails to join leaves nothing for the next try, and two processes of one rank are told so.
//
// A request to get a missing key waits until a client sets the key, or until the rank that would
// set it is known to have ended. Keys that begin with "live/" are never stored: the owner of the
// book answers them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/bytes.h"
#include "comm/store_wire.h"

namespace paceline {

/// Answers a key that begins with kLivePrefix; no answer is an empty value. What is longer than
/// kMaxValueBytes is cut.
using LiveEntries = std::function<std::optional<std::string>(std::string_view key)>;
inline constexpr std::string_view kLivePrefix = "live/";

/// One thread. Bytes of a client never harm another client: who breaks a rule is broken itself.
class StoreBook {
 public:
  using ClientId = std::uint64_t;

  struct Limits {
    std::size_t entries = 1 << 20;
    std::size_t stored_bytes = std::size_t{64} << 20;  ///< of all values
    std::size_t waiting_gets = 1 << 16;                ///< of one client
    /// Answers that one client does not read; one answer more breaks the client.
    std::size_t unsent_bytes = std::size_t{8} << 20;
  };
  /// What the book holds: for tests, as counting takes a walk over all that waits.
  struct Counts {
    std::size_t clients = 0;
    std::size_t entries = 0;
    std::size_t stored_bytes = 0;
    std::size_t waiting_gets = 0;

    bool operator==(const Counts&) const = default;
  };

  StoreBook();
  StoreBook(LiveEntries live, const Limits& limits);

  /// A new client. Ids are not used twice.
  ClientId admit();
  /// The client has gone, and its requests with it.
  void forget(ClientId id);

  /// The rank's process has ended, so it will not set any more keys. Requests that wait for its
  /// keys are answered now, later ones at once. `how`: "exit code 0".
  void rank_ended(int rank, std::string how);

  /// Serves every request that is whole now. Of a broken client nothing is taken any more.
  void receive(ClientId id, ByteView bytes);
  /// What goes to the client next; valid until the book changes.
  ByteView unsent(ClientId id) const;
  void sent(ClientId id, std::size_t bytes);
  /// It broke a rule or reads too slowly: send what is unsent as far as that goes, then hang up.
  bool broken(ClientId id) const;

  Counts counts() const;

 private:
  struct Client {
    Bytes incoming;
    Bytes outgoing;
    std::size_t waiting_gets = 0;
    std::vector<std::string> keys;  // that it has set
    bool broken = false;
  };
  struct Waiter {
    ClientId client;
    std::uint32_t request;
    std::optional<int> setter;  // the rank that will set the key, if the client has named it
  };

  void serve(ClientId id, Client& client, StoreFrame request);
  struct Entry {
    ClientId owner;
    std::string value;
  };

  void set(ClientId id, Client& client, StoreFrame request);
  void tell_of_rival(ClientId id, std::string_view key, const std::string& rival);
  void get(ClientId id, Client& client, StoreFrame request);
  void answer_waiters(const std::string& key, const std::string& value);
  void answer(Client& client, const StoreFrame& frame) const;
  std::string live_value(std::string_view key) const;

  const LiveEntries live_;
  const Limits limits_;
  ClientId next_id_ = 0;
  std::unordered_map<ClientId, Client> clients_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::string, std::vector<Waiter>> waiters_;
  std::unordered_map<int, std::string> ended_;  // ranks, and how each ended
  std::size_t stored_bytes_ = 0;
};

}  // namespace paceline
