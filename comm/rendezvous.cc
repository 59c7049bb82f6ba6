#include "comm/rendezvous.h"

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

}  // namespace

Result<Group> rendezvous(StoreClient& store, const RendezvousRequest& request, Deadline deadline) {
  const std::string prefix = "group/" + request.group + "/" + std::to_string(request.epoch) + "/";
  PACELINE_TRY(
      store.set(prefix + std::to_string(request.rank), encode_member(request.self), deadline));
  std::vector<Awaited> members;
  for (int rank = 0; rank < request.size; ++rank)
    members.push_back({.key = prefix + std::to_string(rank), .setter = rank});
  PACELINE_TRY_ASSIGN(const auto values, store.await(members, deadline));
  Group group{.name = request.group, .epoch = request.epoch, .rank = request.rank};
  for (const std::optional<std::string>& value : values) {
    if (!value) return missing(values);
    PACELINE_TRY_ASSIGN(Member member, decode_member(*value));
    group.members.push_back(std::move(member));
  }
  return group;
}

}  // namespace paceline
