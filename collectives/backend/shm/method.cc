#include "collectives/backend/shm/method.h"

#include <algorithm>

#include "collectives/backend/shm/layout.h"

namespace paceline::shm {
namespace {

// What a rank reads of all contributions together: the more, the sooner it is better to divide the
// work.
constexpr std::size_t kMostRead = std::size_t{64} << 10;
// The same where it need not be copied to be divided. 2 ranks on 2 CPUs, zero_copy to eager: 4 KiB
// 1.04 to 1.14 of the time, 8 KiB 0.81, 16 KiB 0.85, 32 KiB 0.65 to 0.85; broadcast 8 KiB 1.51,
// 16 KiB 0.86, 32 KiB 0.72; reduce-scatter 8 KiB 1.21, 16 KiB 0.83.
constexpr std::size_t kMostReadInBuffers = std::size_t{12} << 10;
// Of a contribution: what ranks that share CPUs copy sooner than they meet once more, as they must
// where they work in each other's arrays. zero_copy to pipelined on 2 CPUs: reduce-scatter and
// all-to-all of 3, 4 and 6 ranks 64 KiB 1.14 to 1.30 of the time, 256 KiB 0.98 to 1.0; all-gather
// of 4 and 8 ranks 32 KiB 1.10 and 1.03, 64 KiB 0.99 and 0.85.
constexpr std::size_t kMostStaged = std::size_t{64} << 10;

// Contributions that each rank reads whole, where it reads all that it needs.
std::size_t read_whole(OperationKind kind, int ranks) {
  const bool all = kind == OperationKind::kAllReduce || kind == OperationKind::kAllGather;
  return all ? static_cast<std::size_t>(ranks) : 1;
}

bool may_gather(OperationKind kind) { return flow_of(kind) == Flow::kShared; }

// Ranks that share CPUs also copy each piece for all, so that it is read from memory once. Ranks
// with a CPU each copy their own: of 2 ranks none would read what the other has read, and more were
// not measured.
bool is_made_for_all(OperationKind kind, const MethodTerms& terms) {
  const bool is_copied = kind == OperationKind::kBroadcast || kind == OperationKind::kAllGather;
  return flow_of(kind) == Flow::kShared || (is_copied && terms.shares_cpus);
}

// The method of short contributions, or none where what is forced is for long ones.
std::optional<Method> short_method(OperationKind kind, const MethodTerms& terms) {
  const Method fastest = terms.shares_cpus && may_gather(kind) ? Method::kGathered : Method::kEager;
  // How a communicator is closed is nobody's to tune.
  if (!terms.forced || kind == OperationKind::kClose) return fastest;
  switch (*terms.forced) {
    case Method::kEager:
      return Method::kEager;
    case Method::kGathered:
      return may_gather(kind) ? Method::kGathered : fastest;
    case Method::kZeroCopy:
      if (!terms.has_buffers) return fastest;
      [[fallthrough]];
    case Method::kPipelined:
      break;
  }
  return std::nullopt;
}

// How many bytes at most go by it.
std::size_t most_short(OperationKind kind, Method method, const MethodTerms& terms) {
  const MeasuredLimits& measured = terms.measured[static_cast<std::size_t>(kind)];
  const bool is_forced = terms.forced == method && kind != OperationKind::kClose;
  if (is_forced) return terms.post_bytes;
  const std::size_t built_in =
      method == Method::kGathered ? terms.post_bytes : kMostRead / read_whole(kind, terms.ranks);
  return std::min(measured[static_cast<std::size_t>(Limit::kOrdinary)].value_or(built_in),
                  terms.post_bytes);
}

// How many wherever the arrays lie. Where ranks share CPUs, to meet twice costs more than to read
// all.
std::size_t most_short_in_buffers(OperationKind kind, Method method, const MethodTerms& terms) {
  const std::size_t most = most_short(kind, method, terms);
  if (!uses_buffers(terms) || terms.shares_cpus || terms.forced == method) return most;
  const MeasuredLimits& measured = terms.measured[static_cast<std::size_t>(kind)];
  const std::size_t limit = measured[static_cast<std::size_t>(Limit::kBuffers)].value_or(
      kMostReadInBuffers / read_whole(kind, terms.ranks));
  // A contribution that fits a flag's cache line leaves no room there for the place of a buffer.
  return std::min(std::max(limit, Line::kDataBytes), most);
}

// In one chunk.
std::size_t most_staged(OperationKind kind, const MethodTerms& terms) {
  if (!may_stage(kind, terms) || terms.forced == Method::kZeroCopy) return 0;
  const MeasuredLimits& measured = terms.measured[static_cast<std::size_t>(kind)];
  return std::min(measured[static_cast<std::size_t>(Limit::kStaged)].value_or(kMostStaged),
                  terms.chunk_bytes);
}

std::string_view why_short(OperationKind kind, Method method, const MethodTerms& terms) {
  if (method == Method::kGathered)
    return "ranks share CPUs, and the last rank to arrive does the work of all";
  switch (flow_of(kind)) {
    case Flow::kFromRoot:
      return "each rank reads the data of the root";
    case Flow::kToEach:
      return "each rank has a different result";
    case Flow::kShared:
      break;
  }
  return terms.shares_cpus ? "each rank reads the data of all ranks"
                           : "each rank has its own CPU and reads the data of all ranks";
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

// Where there is one result, the ranks meet twice in any case.
bool may_stage(OperationKind kind, const MethodTerms& terms) {
  return uses_buffers(terms) && terms.shares_cpus && flow_of(kind) != Flow::kShared;
}

bool uses_buffers(const MethodTerms& terms) {
  return terms.has_buffers && terms.forced != Method::kPipelined;
}

Choice choose(OperationKind kind, const MethodTerms& terms) {
  const std::optional<Method> method = short_method(kind, terms);
  const Method of_short = method.value_or(Method::kEager);
  const std::string_view why = why_short(kind, of_short, terms);
  const std::size_t most = method ? most_short(kind, of_short, terms) : 0;
  const std::size_t most_in_buffers = method ? most_short_in_buffers(kind, of_short, terms) : 0;
  const std::size_t staged = most_staged(kind, terms);

  Choice choice{.ways = {}, .flow = flow_of(kind), .for_all = is_made_for_all(kind, terms)};
  std::size_t at = 0;
  choice.ways[at++] = {
      .most_bytes = most_in_buffers, .ordinary = of_short, .in_buffers = of_short, .why = why};
  if (most > most_in_buffers)
    choice.ways[at++] = {
        .most_bytes = most, .ordinary = of_short, .in_buffers = Method::kZeroCopy, .why = why};
  if (staged > most)
    choice.ways[at++] = {.most_bytes = staged,
                         .ordinary = Method::kPipelined,
                         .in_buffers = Method::kPipelined,
                         .why =
                             "copying it takes ranks that share CPUs less time than another "
                             "synchronization"};
  choice.ways[at] = {.most_bytes = SIZE_MAX,
                     .ordinary = Method::kPipelined,
                     .in_buffers = uses_buffers(terms) ? Method::kZeroCopy : Method::kPipelined,
                     .why = terms.has_buffers ? "not all arrays are in buffers"
                                              : "the ranks cannot map each other's buffers"};
  return choice;
}

}  // namespace paceline::shm
