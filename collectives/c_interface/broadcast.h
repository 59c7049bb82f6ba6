// A broadcast in C: from one buffer of the root into another, which a Communicator does in one
// buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/requests.h"

namespace paceline::c_interface {

/// Pass it to use_one_buffer() before the operation is called.
inline OperationRequest broadcast_of_two(const void* in, void* out, std::size_t count,
                                         DataType type, int root) {
  OperationRequest made = requests::broadcast(out, count, type, root);
  made.input = static_cast<const std::byte*>(in);
  return made;
}

/// Makes a request what a Communicator takes. The root of a broadcast of two buffers copies its
/// data into the second one; a null buffer that is needed remains null, and is refused.
inline void use_one_buffer(OperationRequest& request, int rank) {
  const Signature& signature = request.signature;
  if (signature.kind != OperationKind::kBroadcast || request.input == request.output) return;
  const bool is_root = rank == signature.root;
  if (is_root && request.input == nullptr) request.output = nullptr;
  const std::size_t element = size_of(signature.type);
  // Other counts and types are refused.
  if (is_root && request.output != nullptr && element > 0 &&
      signature.count <= SIZE_MAX / 2 / element)
    std::memmove(request.output, request.input, signature.count * element);
  request.input = request.output;
}

}  // namespace paceline::c_interface
