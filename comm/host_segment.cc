#include "comm/host_segment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/bytes.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kNonceBytes = 16;
using Nonce = std::array<std::byte, kNonceBytes>;

// What rank 0 has made, and by what the others know that they see the same.
struct Offer {
  std::string path;
  std::string boot;  // of the kernel, /proc/sys/kernel/random/boot_id
  Nonce nonce{};     // at the segment's beginning
  std::string why_not;
  std::string note;
};

std::string encode(const Offer& offer) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put_text(offer.path);
  writer.put_text(offer.boot);
  writer.put_text(to_text(offer.nonce));
  writer.put_text(offer.why_not);
  writer.put_text(offer.note);
  return to_text(bytes);
}

Result<Offer> decode(const std::string& text) {
  ByteReader reader(as_byte_view(text));
  Offer offer{.path = reader.get_text(kMaxText), .boot = reader.get_text(kMaxText)};
  const std::string nonce = reader.get_text(kNonceBytes);
  offer.why_not = reader.get_text(kMaxText);
  offer.note = reader.get_text(kMostNote);
  if (!reader.complete() || nonce.size() != kNonceBytes)
    return Status(Code::kUnavailable, Scope::kGroup,
                  "the store's entry about shared memory cannot be decoded");
  std::memcpy(offer.nonce.data(), nonce.data(), kNonceBytes);
  return offer;
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

// What this rank has of the segment: it, or why not.
struct Found {
  std::shared_ptr<SharedSegment> segment;
  Status status;
  bool other_host = false;
  std::string note{};
};

Found keep(Result<SharedSegment> segment, int rank) {
  if (!segment.ok()) return {.segment = nullptr, .status = segment.status()};
  Found found{.segment = std::make_shared<SharedSegment>(*std::move(segment)), .status = {}};
  found.status = found.segment->take_place(rank);
  return found;
}

// The sizes that leave as much free as they take, and the last one in any case: the job may make
// other groups, and other jobs come.
std::span<const std::size_t> modest(const HostSegmentRequest& request) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(request.folder, error);
  std::span<const std::size_t> sizes = request.bytes;
  if (error || space.capacity == 0) return sizes;  // of a tmpfs without a limit
  while (sizes.size() > 1 && sizes.front() > space.available / 2) sizes = sizes.subspan(1);
  return sizes;
}

// The first of the sizes for which there is room.
Result<Found> make(const HostSegmentRequest& request, int rank, Offer& offer) {
  PACELINE_TRY(fill_system_random(offer.nonce));
  offer.boot = boot_id();
  offer.path = request.folder + "/" + request.prefix + to_hexadecimal(offer.nonce);
  Status refused;
  for (const std::size_t bytes : modest(request)) {
    auto segment = SharedSegment::create(offer.path, bytes);
    refused = segment.status();
    if (!segment.ok() && refused.code() == Code::kExhausted) continue;
    if (segment.ok()) std::memcpy(segment->memory().data(), offer.nonce.data(), offer.nonce.size());
    return keep(std::move(segment), rank);
  }
  return Found{.segment = nullptr, .status = refused};
}

// A file of that name that somebody else has made holds another nonce.
Found open(const Offer& offer, int rank) {
  if (!offer.why_not.empty()) {
    return {.segment = nullptr,
            .status = Status(Code::kUnavailable, Scope::kProcess, offer.why_not)};
  }
  if (offer.boot.empty() || offer.boot != boot_id()) {
    return {.segment = nullptr,
            .status =
                Status(Code::kUnavailable, Scope::kProcess, "it runs on another host than rank 0"),
            .other_host = true};
  }
  Found found = keep(SharedSegment::open(offer.path), rank);
  if (!found.status.ok()) return found;
  const auto memory = found.segment->memory();
  const bool same = memory.size() >= kHostSegmentHeader &&
                    std::equal(offer.nonce.begin(), offer.nonce.end(), memory.begin());
  if (same) return found;
  return {
      .segment = nullptr,
      .status = Status(Code::kUnavailable, Scope::kProcess, offer.path + " is another file there")};
}

// What a rank answers: yes and its CPUs, or a letter and the reason.
constexpr std::string_view kFound = "yes";
constexpr char kOtherHost = 'h', kSameHost = 's';

std::string encode(const Found& found) {
  if (found.status.ok()) return std::string(kFound) + affinity().to_text();
  return (found.other_host ? kOtherHost : kSameHost) + found.status.text();
}

// Rank 0 makes it and says where; the others look there.
Result<Found> meet_at(StoreClient& store, const Group& group, const HostSegmentRequest& request,
                      const std::string& key, Deadline deadline) {
  if (group.rank == 0) {
    Offer offer;
    PACELINE_TRY_ASSIGN(Found found, make(request, group.rank, offer));
    if (!found.status.ok()) offer.why_not = found.status.text();
    offer.note = found.note = request.note;
    PACELINE_TRY(store.set(key, encode(offer), deadline));
    return found;
  }
  const Awaited of_rank_0{.key = key, .setter = 0};
  PACELINE_TRY_ASSIGN(const auto values, store.await({&of_rank_0, 1}, deadline));
  if (!values[0]) {
    return Status(Code::kTimeout, Scope::kGroup,
                  "rank 0 has not announced its shared memory before the timeout",
                  {.rank = 0, .host = group.members[0].host});
  }
  PACELINE_TRY_ASSIGN(const Offer offer, decode(*values[0]));
  Found found = open(offer, group.rank);
  found.note = offer.note;
  return found;
}

// Tells the others whether this rank has the segment. The result names the first rank that does not
// have it, and why. If all have it, the result has no reason.
Result<HostSegment> hear_all(StoreClient& store, const Group& group, const std::string& prefix,
                             const std::string& own, Deadline deadline) {
  HostSegment all;
  std::vector<Awaited> awaited;
  for (int rank = 0; rank < group.size(); ++rank)
    awaited.push_back({.key = prefix + std::to_string(rank), .setter = rank});
  PACELINE_TRY_ASSIGN(const auto answers,
                      store.exchange(prefix + std::to_string(group.rank), own, awaited, deadline));
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const Member& member = group.members[place];
    const std::string who = "rank " + std::to_string(rank) + " on " + member.host;
    if (!answers[place]) {
      return Status(Code::kTimeout, Scope::kGroup,
                    who + " has not answered before the timeout whether it can share memory",
                    {.rank = rank, .host = member.host});
    }
    const std::string& answer = *answers[place];
    if (answer.starts_with(kFound)) {
      const auto cpus = CpuSet::parse(std::string_view(answer).substr(kFound.size()));
      if (!cpus)
        return Status(Code::kInternal, Scope::kGroup,
                      who + " sent a malformed answer about shared memory: " + printable(answer));
      all.cpus.add(*cpus);
      continue;
    }
    return HostSegment{.segment = nullptr,
                       .why_not = who + ": " + answer.substr(1),
                       .other_host = answer.front() == kOtherHost};
  }
  return all;
}

}  // namespace

Result<HostSegment> find_host_segment(StoreClient& store, const Group& group,
                                      const HostSegmentRequest& request, Deadline deadline) {
  const std::string prefix = "memory/" + group.name + "/" + std::to_string(group.epoch) + "/";
  PACELINE_TRY_ASSIGN(const Found found,
                      meet_at(store, group, request, prefix + "offer", deadline));
  PACELINE_TRY_ASSIGN(HostSegment all, hear_all(store, group, prefix, encode(found), deadline));
  if (all.why_not.empty()) all.segment = found.segment;
  all.note = found.note;
  if (all.segment != nullptr) all.segment->remove_name();
  return all;
}

}  // namespace paceline
