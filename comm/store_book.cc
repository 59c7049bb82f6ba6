#include "comm/store_book.h"

#include <iterator>
#include <utility>

#include "comm/base/assert.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

StoreFrame refusal(std::uint32_t request, const char* why) {
  return {.kind = StoreFrameKind::kRefused, .id = request, .value = why};
}

StoreFrame ended(std::uint32_t request, const std::string& how) {
  return {.kind = StoreFrameKind::kEnded, .id = request, .value = how};
}

StoreFrame taken(std::uint32_t request, const std::string& rival) {
  return {.kind = StoreFrameKind::kTaken, .id = request, .value = rival};
}

bool is_live(std::string_view key) { return key.starts_with(kLivePrefix); }

}  // namespace

StoreBook::StoreBook() : StoreBook(nullptr, {}) {}

StoreBook::StoreBook(LiveEntries live, const Limits& limits)
    : live_(std::move(live)), limits_(limits) {}

StoreBook::ClientId StoreBook::admit() {
  const ClientId id = next_id_++;
  clients_.try_emplace(id);
  return id;
}

void StoreBook::forget(ClientId id) {
  const auto client = clients_.extract(id);
  PACELINE_ASSERT(!client.empty());
  for (const std::string& key : client.mapped().keys) {
    const auto entry = entries_.extract(key);
    stored_bytes_ -= entry.mapped().value.size();
  }
  const bool waits = client.mapped().waiting_gets > 0;
  for (auto key = waiters_.begin(); waits && key != waiters_.end();) {
    std::erase_if(key->second, [id](const Waiter& waiter) { return waiter.client == id; });
    key = key->second.empty() ? waiters_.erase(key) : std::next(key);
  }
}

void StoreBook::receive(ClientId id, ByteView bytes) {
  Client& client = clients_.at(id);
  if (client.broken) return;
  client.incoming.insert(client.incoming.end(), bytes.begin(), bytes.end());
  ByteView left = client.incoming;
  while (!client.broken) {
    Result<std::optional<StoreFrame>> request = take_frame(left);
    if (!request.ok()) client.broken = true;
    if (!request.ok() || !request->has_value()) break;
    serve(id, client, **std::move(request));
  }
  client.incoming.erase(client.incoming.begin(), client.incoming.end() - std::ssize(left));
}

void StoreBook::serve(ClientId id, Client& client, StoreFrame request) {
  switch (request.kind) {
    case StoreFrameKind::kSet:
      set(id, client, std::move(request));
      break;
    case StoreFrameKind::kGet:
      get(id, client, std::move(request));
      break;
    default:
      client.broken = true;
  }
}

void StoreBook::set(ClientId id, Client& client, StoreFrame request) {
  if (is_live(request.key)) {
    return answer(client, refusal(request.id, "keys that begin with live/ cannot be set"));
  }
  const auto [entry, is_new] = entries_.try_emplace(std::move(request.key), Entry{.owner = id});
  auto& [owner, value] = entry->second;
  if (owner != id) {  // both clients are told
    answer(client, taken(request.id, value));
    tell_of_rival(id, entry->first, value);
    return tell_of_rival(owner, entry->first, request.value);
  }
  const std::size_t stored = stored_bytes_ - value.size() + request.value.size();
  if (entries_.size() > limits_.entries || stored > limits_.stored_bytes) {
    if (is_new) entries_.erase(entry);
    return answer(client, refusal(request.id, "the store is full"));
  }
  if (is_new) client.keys.push_back(entry->first);
  stored_bytes_ = stored;
  value = std::move(request.value);
  answer(client, {.kind = StoreFrameKind::kDone, .id = request.id});
  answer_waiters(entry->first, value);
}

// A client waits for the keys of its peers in the folder in which it sets its own key. Keys that it
// awaits in other folders may have nothing to do with the rival.
void StoreBook::tell_of_rival(ClientId id, std::string_view key, const std::string& rival) {
  Client& client = clients_.at(id);
  const std::string_view folder = key.substr(0, key.rfind('/') + 1);
  for (auto waiting = waiters_.begin(); client.waiting_gets > 0 && waiting != waiters_.end();) {
    if (waiting->first.starts_with(folder))
      std::erase_if(waiting->second, [&](const Waiter& waiter) {
        if (waiter.client != id) return false;
        --client.waiting_gets;
        answer(client, taken(waiter.request, rival));
        return true;
      });
    waiting = waiting->second.empty() ? waiters_.erase(waiting) : std::next(waiting);
  }
}

void StoreBook::answer_waiters(const std::string& key, const std::string& value) {
  const auto waiting = waiters_.extract(key);
  if (waiting.empty()) return;
  for (const Waiter& waiter : waiting.mapped()) {
    Client& client = clients_.at(waiter.client);
    --client.waiting_gets;
    answer(client, {.kind = StoreFrameKind::kValue, .id = waiter.request, .value = value});
  }
}

void StoreBook::rank_ended(int rank, std::string how) {
  if (how.size() > kMaxValueBytes) how.resize(kMaxValueBytes);
  ended_.insert_or_assign(rank, how);
  for (auto key = waiters_.begin(); key != waiters_.end();) {
    std::erase_if(key->second, [&](const Waiter& waiter) {
      if (waiter.setter != rank) return false;
      Client& client = clients_.at(waiter.client);
      --client.waiting_gets;
      answer(client, ended(waiter.request, how));
      return true;
    });
    key = key->second.empty() ? waiters_.erase(key) : std::next(key);
  }
}

void StoreBook::get(ClientId id, Client& client, StoreFrame request) {
  StoreFrame found{.kind = StoreFrameKind::kValue, .id = request.id};
  if (is_live(request.key)) {
    found.value = live_value(request.key);
    return answer(client, found);
  }
  const auto entry = entries_.find(request.key);
  if (entry != entries_.end()) {
    found.value = entry->second.value;
    return answer(client, found);
  }
  const auto setter = parse_number<int>(request.value);
  const auto end = setter ? ended_.find(*setter) : ended_.end();
  if (end != ended_.end()) return answer(client, ended(request.id, end->second));
  if (client.waiting_gets >= limits_.waiting_gets) {
    return answer(client, refusal(request.id, "this client has too many waiting requests"));
  }
  ++client.waiting_gets;
  waiters_[std::move(request.key)].push_back({id, request.id, setter});
}

std::string StoreBook::live_value(std::string_view key) const {
  std::string value = live_ ? live_(key).value_or("") : "";
  if (value.size() > kMaxValueBytes) value.resize(kMaxValueBytes);
  return value;
}

void StoreBook::answer(Client& client, const StoreFrame& frame) const {
  if (client.broken) return;
  append_frame(frame, client.outgoing);
  client.broken = client.outgoing.size() > limits_.unsent_bytes;
}

ByteView StoreBook::unsent(ClientId id) const { return clients_.at(id).outgoing; }

void StoreBook::sent(ClientId id, std::size_t bytes) {
  Bytes& outgoing = clients_.at(id).outgoing;
  PACELINE_ASSERT(bytes <= outgoing.size());
  outgoing.erase(outgoing.begin(), outgoing.begin() + static_cast<std::ptrdiff_t>(bytes));
}

bool StoreBook::broken(ClientId id) const { return clients_.at(id).broken; }

StoreBook::Counts StoreBook::counts() const {
  std::size_t waiting_gets = 0, waiters = 0;
  for (const auto& [id, client] : clients_) waiting_gets += client.waiting_gets;
  for (const auto& [key, waiting] : waiters_) waiters += waiting.size();
  PACELINE_ASSERT(waiting_gets == waiters);
  return {.clients = clients_.size(),
          .entries = entries_.size(),
          .stored_bytes = stored_bytes_,
          .waiting_gets = waiters};
}

}  // namespace paceline
