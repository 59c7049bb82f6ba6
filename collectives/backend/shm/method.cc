#include "collectives/backend/shm/method.h"

#include <algorithm>

namespace paceline::shm {
namespace {

// What a rank reads of all contributions together: the more, the sooner it is better to divide the
// work.
constexpr std::size_t kMostRead = std::size_t{64} << 10;
// The same where it need not be copied to be divided. 2 ranks on 2 CPUs, zero_copy to eager: 4 KiB
// 1.04 to 1.14 of the time, 8 KiB 0.81, 16 KiB 0.85, 32 KiB 0.65 to 0.85; broadcast 8 KiB 1.51,
// 16 KiB 0.86, 32 KiB 0.72; reduce-scatter 8 KiB 1.21, 16 KiB 0.83. 3 ranks that claim, to
// gathered: 0.85, 0.90, 0.79.
constexpr std::size_t kMostReadBesideBuffers = std::size_t{12} << 10;
// Of a contribution: what ranks that share CPUs copy sooner than they meet once more, as they must
// where they work in each other's arrays. zero_copy to pipelined, the medians of three starts with
// 3, 4 and 6 ranks on 2 CPUs: reduce-scatter and all-to-all 64 KiB 1.14 to 1.30 of the time,
// 128 KiB 1.07 to 1.19, 256 KiB 0.98 to 1.0. Starts of 8 and 16 ranks differ by more.
constexpr std::size_t kMostStaged = std::size_t{128} << 10;
// Of an all-gather, each of whose contributions is then copied once, for all, and not by each from
// a chunk: with 4 and 8 ranks on 2 CPUs 16 KiB 1.23 of the time, 32 KiB 1.10 and 1.03, 64 KiB 0.99
// and 0.85, 128 KiB 0.70 and 0.66; with 3 and 5, that claim, 16 KiB 0.95 and 0.90, 32 KiB 0.81 and
// 0.93, 128 KiB 0.62 and 0.59.
constexpr std::size_t kMostStagedOfAll = std::size_t{32} << 10;
constexpr std::size_t kMostStagedOfClaimed = std::size_t{16} << 10;

MostShort evenly(std::size_t bytes) { return {.bytes = bytes, .bytes_beside_buffers = bytes}; }

// Contributions that each rank reads whole, where it reads all that it needs.
std::size_t read_whole(OperationKind kind, int ranks) {
  const bool all = kind == OperationKind::kAllReduce || kind == OperationKind::kAllGather;
  return all ? static_cast<std::size_t>(ranks) : 1;
}

bool may_gather(OperationKind kind) { return flow_of(kind) == Flow::kShared; }

// Where ranks share CPUs, to meet twice costs more than to read all, unless the quicker ones can
// make the pieces of the others. (An all-gather of 3 ranks, 21 KiB of each: 0.83 of the time.)
bool is_quicker_in_buffers(OperationKind kind, const MethodTerms& terms) {
  const bool is_of_all = kind == OperationKind::kAllReduce || kind == OperationKind::kAllGather;
  return !terms.shares_cpus || (claims(terms) && is_of_all);
}

// The root of a broadcast, which need not wait if it is copied, gains by that where there is a CPU
// for each of the others: 3 ranks on 2 CPUs 1.25 to 1.72, 2 on one 1.5 to 2.1, 4, 5, 7 and 8 on 2
// mostly 0.9 to 1.0. (Where ranks meet between broadcasts it has nothing to gain: 3 ranks 0.87 at
// 64 KiB.)
bool is_quicker_staged(OperationKind kind, const MethodTerms& terms) {
  return flow_of(kind) != Flow::kFromRoot || terms.ranks - 1 <= terms.cpus;
}

std::size_t most_staged_unmeasured(OperationKind kind, const MethodTerms& terms) {
  if (kind == OperationKind::kAllGather)
    return claims(terms) ? kMostStagedOfClaimed : kMostStagedOfAll;
  return is_quicker_staged(kind, terms) ? kMostStaged : 0;
}

// In one chunk.
std::size_t most_staged(OperationKind kind, const MethodTerms& terms) {
  if (!may_stage(kind, terms)) return 0;
  const auto& measured = terms.measured[static_cast<std::size_t>(kind)].most_staged;
  return std::min(measured.value_or(most_staged_unmeasured(kind, terms)), terms.chunk_bytes);
}

// What is only copied, too, so that it is read from memory once. Ranks with a CPU each copy their
// own: of 2 nobody would read what another has read, and more were not measured.
bool is_made_for_all(OperationKind kind, const MethodTerms& terms) {
  const bool is_copied = kind == OperationKind::kBroadcast || kind == OperationKind::kAllGather;
  return flow_of(kind) == Flow::kShared || (is_copied && terms.shares_cpus);
}

MethodChoice fastest(OperationKind kind, const MethodTerms& terms) {
  const std::size_t read_by_each = read_whole(kind, terms.ranks);
  const bool gathers = terms.shares_cpus && may_gather(kind);
  MethodChoice choice{
      .of_short = gathers ? Method::kGathered : Method::kEager,
      .most_short =
          evenly(gathers ? terms.post_bytes : std::min(terms.post_bytes, kMostRead / read_by_each)),
      .most_staged = most_staged(kind, terms),
      .of_long = uses_buffers(terms) ? Method::kZeroCopy : Method::kPipelined,
      .flow = flow_of(kind),
      .for_all = is_made_for_all(kind, terms),
      .claims = is_made_for_all(kind, terms) && claims(terms)};
  if (uses_buffers(terms) && is_quicker_in_buffers(kind, terms)) {
    choice.most_short.bytes_beside_buffers =
        std::min(choice.most_short.bytes, kMostReadBesideBuffers / read_by_each);
  }
  if (const auto& measured = terms.measured[static_cast<std::size_t>(kind)].most_short)
    choice.most_short = {
        .bytes = std::min(measured->bytes, terms.post_bytes),
        .bytes_beside_buffers = std::min(measured->bytes_beside_buffers, terms.post_bytes)};
  // Up to most_staged it does not depend on where the arrays lie how an operation goes.
  MostShort& most = choice.most_short;
  most.bytes_beside_buffers =
      std::max(most.bytes_beside_buffers, std::min(most.bytes, choice.most_staged));
  return choice;
}

}  // namespace

Flow flow_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllReduce:
    case OperationKind::kBarrier:
    case OperationKind::kClose:
      return Flow::kShared;
    case OperationKind::kBroadcast:
      return Flow::kFromRoot;
    default:
      return Flow::kToEach;
  }
}

// Where all CPUs have equally many ranks, parts are as quick, and of 4 ranks on 2 CPUs up to a
// quarter quicker from 64 KiB to 1 MiB; with 3 ranks claims are 5 to 40 % quicker.
bool claims(const MethodTerms& terms) { return terms.shares_cpus && terms.ranks % terms.cpus != 0; }

// Where there is one result, the ranks meet twice in any case.
bool may_stage(OperationKind kind, const MethodTerms& terms) {
  return uses_buffers(terms) && terms.shares_cpus && flow_of(kind) != Flow::kShared;
}

bool uses_buffers(const MethodTerms& terms) {
  return terms.has_buffers && terms.forced != Method::kPipelined;
}

MethodChoice choose(OperationKind kind, const MethodTerms& terms) {
  MethodChoice choice = fastest(kind, terms);
  // How a communicator is closed is nobody's to tune.
  if (!terms.forced || kind == OperationKind::kClose) return choice;
  switch (*terms.forced) {
    case Method::kEager:
      choice.of_short = Method::kEager;
      choice.most_short = evenly(terms.post_bytes);
      break;
    case Method::kGathered:
      if (!may_gather(kind)) break;
      choice.of_short = Method::kGathered;
      choice.most_short = evenly(terms.post_bytes);
      break;
    case Method::kZeroCopy:
      if (!terms.has_buffers) break;
      [[fallthrough]];
    case Method::kPipelined:
      choice.most_short = evenly(0);
      choice.most_staged = 0;
      break;
  }
  return choice;
}

Method method_of(const MethodChoice& choice, std::size_t bytes, bool in_buffers) {
  const MostShort& most = choice.most_short;
  if (bytes <= (in_buffers ? most.bytes_beside_buffers : most.bytes)) return choice.of_short;
  return in_buffers && bytes > choice.most_staged ? choice.of_long : Method::kPipelined;
}

}  // namespace paceline::shm
