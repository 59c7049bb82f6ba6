#include "comm/rendezvous.h"

#include <chrono>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/bytes.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kNamedMissing = 8;

std::string encode_member(const Member& member) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put_text(member.host);
  writer.put_text(member.address);
  writer.put(member.pid);
  return to_text(bytes);
}

Result<Member> decode_member(const std::string& text) {
  ByteReader reader(as_byte_view(text));
  Member member;
  member.host = reader.get_text(kMaxName);
  member.address = reader.get_text(kMaxName);
  member.pid = reader.get<std::int64_t>();
  if (reader.complete()) return member;
  return Status(Code::kUnavailable, Scope::kGroup,
                "the store's entry about a rank cannot be decoded");
}

Status missing(const std::vector<std::optional<std::string>>& values) {
  std::string ranks;
  std::size_t count = 0;
  int first = -1;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    if (values[rank]) continue;
    if (first < 0) first = static_cast<int>(rank);
    if (++count <= kNamedMissing) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (count > kNamedMissing) ranks += ", …";
  return Status(Code::kTimeout, Scope::kGroup,
                std::to_string(count) + " of " + std::to_string(values.size()) +
                    " ranks have not joined the rendezvous: " + ranks,
                {.rank = first});
}

bool is_same_process(const Member& one, const Member& other) {
  return one.host == other.host && one.pid == other.pid;
}

// Two processes have joined as the same rank, and both get this error.
Status came_twice(const RendezvousRequest& request, const Result<Member>& other) {
  const auto process = [](const Member& one) {
    return "process " + std::to_string(one.pid) + " on host " + printable(one.host);
  };
  return Status(Code::kMismatch, Scope::kGroup,
                "two processes joined as rank " + std::to_string(request.rank) + ": " +
                    process(request.self) + " (this one), and " +
                    (other.ok() ? process(*other) : std::string("another")),
                {.rank = request.rank, .host = request.self.host});
}

using Values = std::vector<std::optional<std::string>>;

// If this process has tried to join before, the store may not know yet that the earlier connection
// has ended.
Result<Values> exchange(StoreClient& store, const RendezvousRequest& request, Deadline deadline) {
  constexpr int kTries = 50;
  const std::string prefix = "group/" + request.group + "/" + std::to_string(request.epoch) + "/";
  const std::string own = encode_member(request.self);
  std::vector<Awaited> others;
  for (int rank = 0; rank < request.size; ++rank)
    if (rank != request.rank)
      others.push_back({.key = prefix + std::to_string(rank), .setter = rank});
  for (int i = 0;; ++i) {
    Result<Values> values =
        store.exchange(prefix + std::to_string(request.rank), own, others, deadline);
    if (values.ok()) values->insert(values->begin() + request.rank, own);
    if (!store.rival()) return values;
    const Result<Member> other = decode_member(*store.rival());
    if (i == kTries || !other.ok() || !is_same_process(*other, request.self))
      return came_twice(request, other);
    store.pause(std::chrono::milliseconds(20));
  }
}

}  // namespace

Result<Group> rendezvous(StoreClient& store, const RendezvousRequest& request, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const Values values, exchange(store, request, deadline));
  Group group{.name = request.group, .epoch = request.epoch, .rank = request.rank};
  for (const std::optional<std::string>& value : values) {
    if (!value) return missing(values);
    PACELINE_TRY_ASSIGN(Member member, decode_member(*value));
    group.members.push_back(std::move(member));
  }
  return group;
}

}  // namespace paceline
