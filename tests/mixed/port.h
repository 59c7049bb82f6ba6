// A communicator of the C++ or of the C interface, for acts that do not care which.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <paceline/communicator.h>
#include <paceline/paceline.h>

#include "tests/harness/calls.h"

namespace paceline::testing::mixed {

/// Move-only. An error of the C interface has the code and the text of the library, and the rank
/// that this text names.
class Port {
 public:
  explicit Port(Communicator own) : own_(std::move(own)), world_(nullptr) {}
  explicit Port(Communicator* borrowed) : world_(borrowed) {}
  explicit Port(plComm_t own) : world_(nullptr), comm_(own) {}
  Port(Port&& other) noexcept
      : own_(std::exchange(other.own_, std::nullopt)),
        world_(std::exchange(other.world_, nullptr)),
        comm_(std::exchange(other.comm_, nullptr)) {}
  Port& operator=(Port&&) = delete;
  ~Port() { destroy(); }

  bool is_in_c() const { return comm_ != nullptr; }
  Communicator& world() { return own_ ? *own_ : *world_; }  ///< of C++ only
  plComm_t comm() const { return comm_; }
  int rank();
  int size();

  Status run(const Call& call, MadeCall& made);
  Status exchange(std::span<const Message> messages);
  Status send(const void* in, std::size_t count, DataType type, int peer);
  Status receive(void* out, std::size_t count, DataType type, int peer);
  Status broadcast(void* buffer, std::size_t count, DataType type, int root);
  Status barrier();
  Result<std::optional<Port>> split(int color, int key);
  Status close();
  void abort();
  /// As the destructor; nothing may be called afterwards.
  void destroy();

  /// What a call of the C interface on it has returned.
  Status status_of(plResult_t result) const;

 private:
  std::optional<Communicator> own_;
  Communicator* world_;
  plComm_t comm_ = nullptr;
};

}  // namespace paceline::testing::mixed
