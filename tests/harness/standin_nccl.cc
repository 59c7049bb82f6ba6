// libnccl.so.2 for tests, over fake devices: also between processes of one host. See README.md.
// NCCL's API reference says what a call means.
// Longer than 400 lines because the entry points of a library are one file.
//
// Ranks share a segment of memory, which the id names by a descriptor of its maker. There
// each rank has room for its input of one collective call, and each pair of ranks for one message:
//
//   a rank writes its input when all have taken what it had before, posts it, waits until all have
//   posted theirs, and writes its result
//
// A kernel looks again and again whether it can go on. If ranks make calls that differ, none ends:
// so does NCCL.
#include "tests/harness/standin_nccl.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/reduce/kernels.h"
#include "comm/base/random.h"
#include "tests/harness/device_hooks.h"

namespace {

using paceline::DataType;
using paceline::kernels;
using paceline::Random;
using paceline::ReduceOp;
using paceline::size_of;
using namespace paceline::cuda;  // NOLINT: what it stands in for

constexpr int kVersion = 22809;
constexpr int kMostRanks = 16;
constexpr std::size_t kRankBytes = std::size_t{32} << 20;
constexpr std::size_t kPairBytes = std::size_t{8} << 20;
constexpr int kFirstFactor = 1000;  // of ops that were made

// A rule of NCCL was broken: a program would crash, hang or get wrong results.
[[noreturn]] void broken(const std::string& rule) {
  std::fprintf(stderr, "stand-in of libnccl.so.2: %s\n", rule.c_str());
  std::abort();
}

// All ranks must pass the same.
struct Form {
  int kind = 0;
  int type = 0;
  int op = 0;
  int root = -1;
  std::uint64_t count = 0;

  bool operator==(const Form&) const = default;
};

// In shared memory. Counters count calls from the beginning.
struct RankPlace {
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> taken{0};
  Form form{};
};
struct PairPlace {
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> taken{0};
  std::uint64_t count = 0;
  int type = 0;
};
struct Head {
  std::atomic<int> joined{0};
  std::atomic<int> connected{0};  // ranks that have made their first calls
  std::array<RankPlace, kMostRanks> ranks{};
  std::array<std::array<PairPlace, kMostRanks>, kMostRanks> pairs{};  // [from][to]
};

constexpr std::size_t kHeadBytes = (sizeof(Head) + 4095) / 4096 * 4096;
constexpr std::size_t kSegmentBytes =
    kHeadBytes + kMostRanks * kRankBytes + kMostRanks * kMostRanks * kPairBytes;

struct Id {
  char mark[8] = "standin";
  int process = 0;
  int descriptor = 0;
};

class Segment {
 public:
  explicit Segment(int descriptor) {
    void* const memory = ::mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (memory == MAP_FAILED) broken("its shared memory cannot be mapped");
    begin_ = static_cast<std::byte*>(memory);
  }
  ~Segment() { ::munmap(begin_, kSegmentBytes); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  Head& head() const { return *reinterpret_cast<Head*>(begin_); }
  std::byte* of_rank(int rank) const {
    return begin_ + kHeadBytes + static_cast<std::size_t>(rank) * kRankBytes;
  }
  std::byte* of_pair(int from, int to) const {
    return begin_ + kHeadBytes + kMostRanks * kRankBytes +
           static_cast<std::size_t>(from * kMostRanks + to) * kPairBytes;
  }

 private:
  std::byte* begin_ = nullptr;
};

constexpr DataType kTypes[] = {DataType::kInt8,    DataType::kUInt8,   DataType::kInt32,
                               DataType::kUInt32,  DataType::kInt64,   DataType::kUInt64,
                               DataType::kFloat16, DataType::kFloat32, DataType::kFloat64,
                               DataType::kBFloat16};

DataType type_of(int type) {
  if (type < 0 || type >= static_cast<int>(std::size(kTypes)))
    broken("a data type that does not exist");
  return kTypes[type];
}

enum Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive };

struct Call {
  Form form{};
  const void* in = nullptr;
  void* out = nullptr;
  std::array<std::byte, 8> factor{};  // of ops that were made
};

// How calls that were enqueued together end, on one rank.
struct Shared {
  explicit Shared(int descriptor) : segment(descriptor) {}

  const Segment segment;
  int rank = 0;
  int ranks = 0;
  std::atomic<bool> is_stopped{false};  // revoked or aborted
  std::uint64_t collectives = 0;        // enqueued
  std::array<std::uint64_t, kMostRanks> sent{};
  std::array<std::uint64_t, kMostRanks> received{};
};

// One call, carried out step by step.
class Running {
 public:
  Running(Shared& shared, const Call& call, void* stream)
      : shared_(shared), call_(call), stream_(stream) {
    if (is_message()) {
      auto& counts = call.form.kind == kSend ? shared.sent : shared.received;
      number_ = counts[static_cast<std::size_t>(call.form.root)]++;
    } else {
      number_ = shared.collectives++;
    }
  }

  bool is_message() const { return call_.form.kind == kSend || call_.form.kind == kReceive; }

  bool step() {
    if (!is_done_) is_done_ = is_message() ? step_message() : step_collective();
    return is_done_;
  }

 private:
  std::size_t bytes(std::size_t blocks = 1) const {
    return call_.form.count * blocks * size_of(type_of(call_.form.type));
  }

  bool step_message() {
    const int peer = call_.form.root;
    const int from = call_.form.kind == kSend ? shared_.rank : peer;
    const int to = call_.form.kind == kSend ? peer : shared_.rank;
    PairPlace& place =
        shared_.segment.head().pairs[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    std::byte* const room = shared_.segment.of_pair(from, to);
    if (bytes() > kPairBytes) broken("a message is longer than the stand-in has room for");
    if (call_.form.kind == kSend) {
      if (place.taken.load() != number_) return false;
      const std::byte* const in = use(call_.in, bytes(), "NCCL reads");
      if (in != nullptr) std::memcpy(room, in, bytes());
      place.count = call_.form.count;
      place.type = call_.form.type;
      place.posted.store(number_ + 1);
      return true;
    }
    if (place.posted.load() != number_ + 1) return false;
    if (place.count != call_.form.count || place.type != call_.form.type) return false;
    std::byte* const out = use(call_.out, bytes(), "NCCL writes");
    if (out != nullptr) std::memcpy(out, room, bytes());
    place.taken.store(number_ + 1);
    return true;
  }

  bool step_collective() {
    const auto ranks = static_cast<std::size_t>(shared_.ranks);
    auto& places = shared_.segment.head().ranks;
    RankPlace& own = places[static_cast<std::size_t>(shared_.rank)];
    const auto all = [&](const auto& is_so) {
      return std::all_of(places.begin(), places.begin() + shared_.ranks, is_so);
    };
    if (!has_posted_) {
      if (!all([&](const RankPlace& place) { return place.taken.load() >= number_; })) return false;
      const std::size_t blocks = call_.form.kind == kReduceScatter ? ranks : 1;
      if (bytes(blocks) > kRankBytes) broken("a call is longer than the stand-in has room for");
      const bool contributes = call_.form.kind != kBroadcast || call_.form.root == shared_.rank;
      if (contributes) contribute(blocks);
      own.form = call_.form;
      own.form.op = std::min(own.form.op, kFirstFactor);  // each rank has factors of its own
      own.posted.store(number_ + 1);
      has_posted_ = true;
    }
    if (!all([&](const RankPlace& place) { return place.posted.load() > number_; })) return false;
    if (!all([&](const RankPlace& place) { return place.form == own.form; })) return false;
    finish(ranks);
    own.taken.store(number_ + 1);
    return true;
  }

  void contribute(std::size_t blocks) {
    const std::byte* const in = use(call_.in, bytes(blocks), "NCCL reads");
    std::byte* const room = shared_.segment.of_rank(shared_.rank);
    if (in == nullptr) return;
    if (call_.form.op < kFirstFactor) {
      std::memcpy(room, in, bytes(blocks));
    } else {
      kernels()
          .of(type_of(call_.form.type))
          .scale(room, in, call_.factor.data(), call_.form.count * blocks);
    }
  }

  void finish(std::size_t ranks) {
    const auto own = static_cast<std::size_t>(shared_.rank);
    switch (call_.form.kind) {
      case kAllReduce:
        return reduce(0, use(call_.out, bytes(), "NCCL writes"));
      case kReduce:
        if (call_.form.root == shared_.rank) reduce(0, use(call_.out, bytes(), "NCCL writes"));
        return;
      case kReduceScatter:
        return reduce(own * bytes(), use(call_.out, bytes(), "NCCL writes"));
      case kBroadcast: {
        std::byte* const out = use(call_.out, bytes(), "NCCL writes");
        if (out != nullptr) std::memcpy(out, shared_.segment.of_rank(call_.form.root), bytes());
        return;
      }
      case kAllGather: {
        std::byte* const out = use(call_.out, bytes(ranks), "NCCL writes");
        if (out == nullptr) return;
        for (std::size_t rank = 0; rank < ranks; ++rank)
          std::memcpy(out + rank * bytes(), shared_.segment.of_rank(static_cast<int>(rank)),
                      bytes());
        return;
      }
      default:
        broken("a call that does not exist");
    }
  }

  void reduce(std::size_t at, std::byte* out) {
    if (out == nullptr) return;
    std::vector<const void*> operands;
    for (int rank = 0; rank < shared_.ranks; ++rank)
      operands.push_back(shared_.segment.of_rank(rank) + at);
    constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin};
    const paceline::Kernels& of_type = kernels().of(type_of(call_.form.type));
    if (call_.form.op == 4) return of_type.average_all(out, operands, call_.form.count);
    const ReduceOp op = call_.form.op >= kFirstFactor ? ReduceOp::kSum : kOps[call_.form.op];
    of_type.fused(op)(out, operands.data(), operands.size(), call_.form.count);
  }

  std::byte* use(const void* address, std::size_t length, const char* what) const {
    return length == 0 ? nullptr : standin_use(stream_, address, length, what);
  }

  Shared& shared_;
  const Call call_;
  void* const stream_;
  std::uint64_t number_ = 0;
  bool has_posted_ = false;
  bool is_done_ = false;
};

[[maybe_unused]] int descriptor_of(const Id& id) {
  if (std::memcmp(id.mark, Id().mark, sizeof id.mark) != 0) broken("the id is not one of NCCL");
  const std::string path =
      "/proc/" + std::to_string(id.process) + "/fd/" + std::to_string(id.descriptor);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

std::atomic<int> failures{0};  // that were asked for
std::atomic<NcclResult> failure{kNcclSuccess};

}  // namespace

namespace paceline::cuda {

struct ncclComm {
  explicit ncclComm(int descriptor) : shared(std::make_shared<Shared>(descriptor)) {}

  const std::shared_ptr<Shared> shared;  // owners: this and kernels
  Random random{1};
  int closes = -1;             // the maker's descriptor of the segment
  std::uint64_t busy_for = 0;  // so often it says that it is still at the last call
  bool has_joined = false;
  bool has_called = false;
  int failures_seen = 0;
  NcclResult error = kNcclSuccess;
  std::map<int, std::array<std::byte, 8>> factors{};
  int next_factor = kFirstFactor;
};

}  // namespace paceline::cuda

namespace {

struct OpenGroup {
  int depth = 0;
  struct One {
    ncclComm* comm;
    Call call;
    void* stream;
  };
  std::vector<One> calls{};
};

OpenGroup& open_group() {
  thread_local OpenGroup group;
  return group;
}

// Is it still joining, or at the last call?
bool is_busy(ncclComm& comm) {
  if (!comm.has_joined) {
    comm.has_joined = comm.shared->segment.head().joined.load() >= comm.shared->ranks;
    if (comm.has_joined && comm.closes >= 0) ::close(std::exchange(comm.closes, -1));
  }
  if (!comm.has_joined) return true;
  // At its first calls NCCL connects to the ranks that make them, too, before it enqueues them.
  const Head& head = comm.shared->segment.head();
  if (comm.has_called && head.connected.load() < comm.shared->ranks) return true;
  if (comm.busy_for > 0) --comm.busy_for;
  return comm.busy_for > 0;
}

NcclResult enqueue(ncclComm* comm, const Call& call, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  if (!comm->has_joined || comm->busy_for > 0)
    broken("a call while the communicator is at another one (ncclInProgress)");
  if (comm->shared->is_stopped.load()) return kNcclInvalidUsage;
  (void)type_of(call.form.type);
  if (open_group().depth == 0) broken("a call outside of a group, though groups are used");
  open_group().calls.push_back({comm, call, stream});
  return kNcclInProgress;
}

Call call_of(Kind kind, const void* in, void* out, std::size_t count, int type, int op, int root) {
  return {.form = {.kind = kind, .type = type, .op = op, .root = root, .count = count},
          .in = in,
          .out = out};
}

}  // namespace

STANDIN_EXPORTED NcclResult ncclGetVersion(int* version) {
  const char* const text = std::getenv("STANDIN_NCCL_VERSION");
  *version = text != nullptr ? std::atoi(text) : kVersion;
  return kNcclSuccess;
}
STANDIN_EXPORTED const char* ncclGetErrorString(NcclResult error) {
  return error == kNcclRemoteError ? "remote process exited or there was a network error"
                                   : "an error of the stand-in";
}
STANDIN_EXPORTED const char* ncclGetLastError(NcclComm) { return "the stand-in says so"; }
STANDIN_EXPORTED NcclResult ncclGetUniqueId(NcclId* id) {
  Id made;
  made.process = ::getpid();
  made.descriptor = ::memfd_create("standin_nccl", MFD_CLOEXEC);
  if (made.descriptor < 0 || ::ftruncate(made.descriptor, kSegmentBytes) != 0)
    return kNcclSystemError;
  std::memcpy(id->internal, &made, sizeof made);
  return kNcclSuccess;
}
#ifndef STANDIN_IS_OLD
STANDIN_EXPORTED NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclId id, int rank,
                                                   NcclConfig* config) {
  Id name;
  std::memcpy(&name, id.internal, sizeof name);
  if (config == nullptr || config->magic != 0xcafebeef || config->size < sizeof(NcclConfig))
    return kNcclInvalidArgument;
  if (config->blocking != 0) broken("a communicator that blocks");
  if (ranks > kMostRanks || rank < 0 || rank >= ranks) return kNcclInvalidArgument;
  const char* const refused = std::getenv("STANDIN_NCCL_REFUSES");
  if (refused != nullptr && std::atoi(refused) == rank) return kNcclInvalidUsage;
  const int descriptor = descriptor_of(name);
  if (descriptor < 0) return kNcclRemoteError;
  auto made = std::make_unique<ncclComm>(descriptor);
  ::close(descriptor);
  made->shared->rank = rank;
  made->shared->ranks = ranks;
  made->random = Random(static_cast<std::uint64_t>(rank) + 1);
  made->busy_for = made->random.below(20);
  made->failures_seen = failures.load();
  if (rank == 0 && name.process == ::getpid()) made->closes = name.descriptor;
  made->shared->segment.head().joined.fetch_add(1);
  *comm = made.release();
  return kNcclInProgress;
}
#endif
STANDIN_EXPORTED NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  if (comm->failures_seen != failures.load()) {
    comm->failures_seen = failures.load();
    comm->error = failure.load();
  }
  *error = comm->error;
  if (comm->error == kNcclSuccess && is_busy(*comm)) *error = kNcclInProgress;
  return kNcclSuccess;
}
#ifndef STANDIN_WITHOUT_REVOKE
STANDIN_EXPORTED NcclResult ncclCommRevoke(NcclComm comm, int flags) {
  if (flags != 0) return kNcclInvalidArgument;
  if (comm->shared->is_stopped.exchange(true)) return kNcclInvalidArgument;
  if (is_busy(*comm)) broken("a communicator is revoked that is at another call");
  return kNcclSuccess;
}
#endif
STANDIN_EXPORTED NcclResult ncclCommAbort(NcclComm comm) {
  comm->shared->is_stopped.store(true);
  if (comm->closes >= 0) ::close(comm->closes);
  delete comm;
  return kNcclSuccess;
}
STANDIN_EXPORTED NcclResult ncclCommDestroy(NcclComm comm) {
  if (comm->shared->is_stopped.load()) broken("a revoked communicator is destroyed, not aborted");
  delete comm;
  return kNcclSuccess;
}
STANDIN_EXPORTED NcclResult ncclGroupStart() {
  ++open_group().depth;
  return kNcclSuccess;
}
STANDIN_EXPORTED NcclResult ncclGroupEnd() {
  OpenGroup& group = open_group();
  if (group.depth == 0) return kNcclInvalidUsage;
  if (--group.depth > 0) return kNcclSuccess;
  std::map<std::pair<ncclComm*, void*>, std::shared_ptr<std::vector<Running>>> together;
  for (const OpenGroup::One& one : std::exchange(group.calls, {})) {
    auto& calls = together[{one.comm, one.stream}];
    if (calls == nullptr) calls = std::make_shared<std::vector<Running>>();
    calls->emplace_back(*one.comm->shared, one.call, one.stream);
  }
  for (const auto& [where, calls] : together) {
    ncclComm* const comm = where.first;
    comm->busy_for = comm->random.below(4);
    if (!std::exchange(comm->has_called, true)) comm->shared->segment.head().connected.fetch_add(1);
    // Messages run side by side, collective calls one after the other.
    const auto kernel = [calls = calls, shared = comm->shared] {
      if (shared->is_stopped.load()) return true;
      bool all = true;
      for (Running& call : *calls)
        if (all || call.is_message()) all &= call.step();
      return all;
    };
    if (!standin_launch(where.second, kernel)) broken("a call on a stream that does not exist");
  }
  return kNcclInProgress;
}
STANDIN_EXPORTED NcclResult ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence,
                                                     NcclComm comm) {
  if (residence != kNcclScalarHostImmediate) return kNcclInvalidArgument;
  *op = comm->next_factor++;
  std::memcpy(comm->factors[*op].data(), scalar, size_of(type_of(type)));
  return kNcclSuccess;
}
STANDIN_EXPORTED NcclResult ncclRedOpDestroy(int op, NcclComm comm) {
  return comm->factors.erase(op) == 1 ? kNcclSuccess : kNcclInvalidArgument;
}

namespace {

NcclResult enqueue_reduction(Kind kind, const void* in, void* out, std::size_t count, int type,
                             int op, int root, ncclComm* comm, void* stream) {
  Call call = call_of(kind, in, out, count, type, op, root);
  if (op >= kFirstFactor) {
    const auto found = comm->factors.find(op);
    if (found == comm->factors.end()) broken("an op that does not exist");
    call.factor = found->second;
  }
  return enqueue(comm, call, stream);
}

}  // namespace

STANDIN_EXPORTED NcclResult ncclAllReduce(const void* in, void* out, std::size_t count, int type,
                                          int op, NcclComm comm, void* stream) {
  return enqueue_reduction(kAllReduce, in, out, count, type, op, -1, comm, stream);
}
STANDIN_EXPORTED NcclResult ncclReduce(const void* in, void* out, std::size_t count, int type,
                                       int op, int root, NcclComm comm, void* stream) {
  return enqueue_reduction(kReduce, in, out, count, type, op, root, comm, stream);
}
STANDIN_EXPORTED NcclResult ncclReduceScatter(const void* in, void* out, std::size_t count,
                                              int type, int op, NcclComm comm, void* stream) {
  return enqueue_reduction(kReduceScatter, in, out, count, type, op, -1, comm, stream);
}
STANDIN_EXPORTED NcclResult ncclBroadcast(const void* in, void* out, std::size_t count, int type,
                                          int root, NcclComm comm, void* stream) {
  return enqueue(comm, call_of(kBroadcast, in, out, count, type, 0, root), stream);
}
STANDIN_EXPORTED NcclResult ncclAllGather(const void* in, void* out, std::size_t count, int type,
                                          NcclComm comm, void* stream) {
  return enqueue(comm, call_of(kAllGather, in, out, count, type, 0, -1), stream);
}
STANDIN_EXPORTED NcclResult ncclSend(const void* in, std::size_t count, int type, int peer,
                                     NcclComm comm, void* stream) {
  return enqueue(comm, call_of(kSend, in, nullptr, count, type, 0, peer), stream);
}
STANDIN_EXPORTED NcclResult ncclRecv(void* out, std::size_t count, int type, int peer,
                                     NcclComm comm, void* stream) {
  return enqueue(comm, call_of(kReceive, nullptr, out, count, type, 0, peer), stream);
}

namespace paceline::testing {

#ifndef STANDIN_IS_LIBRARY
cuda::NcclCalls standin_nccl_calls(bool has_revoke) {
  cuda::NcclCalls calls;
#define STANDIN_NCCL_SET(symbol, member, parameters) calls.member = symbol;
  PACELINE_NCCL_CALLS(STANDIN_NCCL_SET)
#undef STANDIN_NCCL_SET
  calls.error_string = ncclGetErrorString;
  calls.last_error = ncclGetLastError;
  if (has_revoke) calls.revoke = ncclCommRevoke;
  return calls;
}

void standin_nccl_fail(cuda::NcclResult error) {
  failure.store(error);
  failures.fetch_add(1);
}
#endif

}  // namespace paceline::testing
