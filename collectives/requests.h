// The request of each operation, made from the arguments of its call. Communicator, the C interface
// and the gradient pipeline all make their requests here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <paceline/message.h>
#include <paceline/reduce_rule.h>
#include <paceline/types.h>

#include "collectives/backend/backend.h"

namespace paceline::requests {

/// One count for each rank. Empty counts are refused when the operation is called.
using Counts = std::span<const std::size_t>;

inline OperationRequest of(const Signature& signature, const void* in, void* out) {
  return {.signature = signature,
          .input = static_cast<const std::byte*>(in),
          .output = static_cast<std::byte*>(out)};
}

/// The request of a kind that reduces.
inline OperationRequest reducing(Signature signature, const void* in, void* out,
                                 const ReduceRule& rule) {
  signature.op = rule.op();
  OperationRequest made = of(signature, in, out);
  if (rule.factor()) [[unlikely]]
    made.factor = rule.factor();
  return made;
}

/// The request of a kind for which all ranks pass the same counts.
inline OperationRequest with_counts(OperationRequest request, Counts counts) {
  for (const std::size_t count : counts) {
    // A sum that does not fit becomes one that is refused.
    if (__builtin_add_overflow(request.signature.count, count, &request.signature.count)) {
      request.signature.count = UINT64_MAX;
      break;
    }
  }
  request.counts = counts.empty() ? nullptr : counts.data();
  return request;
}

inline OperationRequest barrier() { return {.signature = {.kind = OperationKind::kBarrier}}; }

inline OperationRequest broadcast(void* buffer, std::size_t count, DataType type, int root) {
  return of({.count = count, .root = root, .kind = OperationKind::kBroadcast, .type = type}, buffer,
            buffer);
}

inline OperationRequest reduce(const void* in, void* out, std::size_t count, DataType type,
                               const ReduceRule& rule, int root) {
  return reducing({.count = count, .root = root, .kind = OperationKind::kReduce, .type = type}, in,
                  out, rule);
}

inline OperationRequest all_reduce(const void* in, void* out, std::size_t count, DataType type,
                                   const ReduceRule& rule = ReduceOp::kSum) {
  return reducing({.count = count, .kind = OperationKind::kAllReduce, .type = type}, in, out, rule);
}

inline OperationRequest reduce_scatter(const void* in, void* out, std::size_t count, DataType type,
                                       const ReduceRule& rule) {
  return reducing({.count = count, .kind = OperationKind::kReduceScatter, .type = type}, in, out,
                  rule);
}

inline OperationRequest all_gather(const void* in, void* out, std::size_t count, DataType type) {
  return of({.count = count, .kind = OperationKind::kAllGather, .type = type}, in, out);
}

inline OperationRequest gather(const void* in, void* out, std::size_t count, DataType type,
                               int root) {
  return of({.count = count, .root = root, .kind = OperationKind::kGather, .type = type}, in, out);
}

inline OperationRequest scatter(const void* in, void* out, std::size_t count, DataType type,
                                int root) {
  return of({.count = count, .root = root, .kind = OperationKind::kScatter, .type = type}, in, out);
}

inline OperationRequest all_to_all(const void* in, void* out, std::size_t count, DataType type) {
  return of({.count = count, .kind = OperationKind::kAllToAll, .type = type}, in, out);
}

inline OperationRequest reduce_scatter_v(const void* in, void* out, Counts counts, DataType type,
                                         const ReduceRule& rule) {
  return with_counts(
      reducing({.kind = OperationKind::kReduceScatterV, .type = type}, in, out, rule), counts);
}

inline OperationRequest all_gather_v(const void* in, void* out, Counts counts, DataType type) {
  return with_counts(of({.kind = OperationKind::kAllGatherV, .type = type}, in, out), counts);
}

inline OperationRequest gather_v(const void* in, void* out, Counts counts, DataType type,
                                 int root) {
  return with_counts(of({.root = root, .kind = OperationKind::kGatherV, .type = type}, in, out),
                     counts);
}

inline OperationRequest scatter_v(const void* in, void* out, Counts counts, DataType type,
                                  int root) {
  return with_counts(of({.root = root, .kind = OperationKind::kScatterV, .type = type}, in, out),
                     counts);
}

/// Each rank passes counts of its own, so their sum is not part of the signature.
inline OperationRequest all_to_all_v(const void* in, Counts send_counts, void* out,
                                     Counts recv_counts, DataType type) {
  OperationRequest made = of({.kind = OperationKind::kAllToAllV, .type = type}, in, out);
  made.counts = send_counts.empty() ? nullptr : send_counts.data();
  made.recv_counts = recv_counts.empty() ? nullptr : recv_counts.data();
  return made;
}

inline OperationRequest send(const void* in, std::size_t count, DataType type, int peer) {
  return of({.count = count, .root = peer, .kind = OperationKind::kSend, .type = type}, in,
            nullptr);
}

inline OperationRequest receive(void* out, std::size_t count, DataType type, int peer) {
  return of({.count = count, .root = peer, .kind = OperationKind::kReceive, .type = type}, nullptr,
            out);
}

inline OperationRequest exchange(std::span<const Message> messages) {
  return {.signature = {.count = messages.size(), .kind = OperationKind::kExchange},
          .messages = messages};
}

}  // namespace paceline::requests
