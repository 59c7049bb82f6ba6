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

const ExchangeTopic kOffer{.key = "memory-offer", .task = "announced its shared memory"};
const ExchangeTopic kAnswer{.key = "memory", .task = "answered whether it can share memory"};
constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kNonceBytes = 16;
using Nonce = std::array<std::byte, kNonceBytes>;

// What rank 0 has made, and by what the others know that they see the same.
struct Offer {
  std::string path;
  Nonce nonce{};  // at the segment's beginning
  std::string why_not;
  std::string note;
};

std::string encode(const Offer& offer) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put_text(offer.path);
  writer.put_text(to_text(offer.nonce));
  writer.put_text(offer.why_not);
  writer.put_text(offer.note);
  return to_text(bytes);
}

Result<Offer> decode(const std::string& text) {
  ByteReader reader(as_byte_view(text));
  Offer offer{.path = reader.get_text(kMaxText)};
  const std::string nonce = reader.get_text(kNonceBytes);
  offer.why_not = reader.get_text(kMaxText);
  offer.note = reader.get_text(kMostNote);
  if (!reader.complete() || nonce.size() != kNonceBytes)
    return Status(Code::kUnavailable, Scope::kGroup,
                  "the message of rank 0 about shared memory cannot be decoded");
  std::memcpy(offer.nonce.data(), nonce.data(), kNonceBytes);
  return offer;
}

// What this rank has of the segment: it, or why not.
struct Found {
  std::shared_ptr<SharedSegment> segment;
  Status status;
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
Found make(const HostSegmentRequest& request, int rank, Offer& offer) {
  Status refused = fill_system_random(offer.nonce);
  if (!refused.ok()) return {.segment = nullptr, .status = refused};
  offer.path = request.folder + "/" + request.prefix + to_hexadecimal(offer.nonce);
  for (const std::size_t bytes : modest(request)) {
    auto segment = SharedSegment::create(offer.path, bytes);
    refused = segment.status();
    if (!segment.ok() && refused.code() == Code::kExhausted) continue;
    if (segment.ok()) std::memcpy(segment->memory().data(), offer.nonce.data(), offer.nonce.size());
    return keep(std::move(segment), rank);
  }
  return {.segment = nullptr, .status = refused};
}

// A file of that name that somebody else has made holds another nonce.
Found open(const Offer& offer, int rank) {
  if (!offer.why_not.empty()) {
    return {.segment = nullptr,
            .status = Status(Code::kUnavailable, Scope::kProcess, offer.why_not)};
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

// What a rank answers: yes and its CPUs, or no and the reason.
constexpr std::string_view kFound = "yes", kNot = "no ";

std::string encode(const Found& found) {
  if (found.status.ok()) return std::string(kFound) + affinity().to_text();
  return std::string(kNot) + found.status.text();
}

// Rank 0 makes it and says where; the others look there.
Result<Found> meet_at(Exchange& exchange, const Group& group, const HostSegmentRequest& request,
                      Deadline deadline) {
  Offer offer;
  Found found;
  if (group.rank == 0) {
    found = make(request, group.rank, offer);
    if (!found.status.ok()) offer.why_not = found.status.text();
    offer.note = request.note;
  }
  PACELINE_TRY_ASSIGN(const auto texts,
                      exchange.all(kOffer, group.rank == 0 ? encode(offer) : "", deadline));
  if (group.rank != 0) {
    const Result<Offer> heard = decode(texts[0]);
    found =
        heard.ok() ? open(*heard, group.rank) : Found{.segment = nullptr, .status = heard.status()};
    if (heard.ok()) offer.note = heard->note;
  }
  found.note = offer.note;
  return found;
}

// Tells the others whether this rank has the segment. The result names the first rank that does not
// have it, and why. If all have it, the result has no reason.
Result<HostSegment> hear_all(Exchange& exchange, const Group& group, const std::vector<int>& names,
                             const std::string& own, Deadline deadline) {
  HostSegment all;
  PACELINE_TRY_ASSIGN(const auto answers, exchange.all(kAnswer, own, deadline));
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    const int name = names.empty() ? static_cast<int>(rank) : names[rank];
    const std::string who = "rank " + std::to_string(name) + " on " + group.members[rank].host;
    const std::string& answer = answers[rank];
    if (answer.starts_with(kFound)) {
      const auto cpus = CpuSet::parse(std::string_view(answer).substr(kFound.size()));
      if (cpus) {
        all.cpus.add(*cpus);
        continue;
      }
    }
    if (!answer.starts_with(kNot))
      return Status(Code::kInternal, Scope::kGroup,
                    who + " sent a malformed answer about shared memory: " + printable(answer));
    return HostSegment{.segment = nullptr, .why_not = who + ": " + answer.substr(kNot.size())};
  }
  return all;
}

}  // namespace

Result<HostSegment> find_host_segment(Exchange& exchange, const Group& group,
                                      const HostSegmentRequest& request, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const Found found, meet_at(exchange, group, request, deadline));
  PACELINE_TRY_ASSIGN(HostSegment all,
                      hear_all(exchange, group, request.names, encode(found), deadline));
  if (all.why_not.empty()) all.segment = found.segment;
  all.note = found.note;
  if (all.segment != nullptr) all.segment->remove_name();
  return all;
}

Status listen_for_segments(PartExchange& exchange, Deadline deadline) {
  PACELINE_TRY(exchange.listen(kOffer, deadline));
  return exchange.listen(kAnswer, deadline);
}

}  // namespace paceline
