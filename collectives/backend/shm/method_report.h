// What people are told about the methods by which operations go through shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>

#include <paceline/types.h>

#include "collectives/backend/shm/method.h"
#include "telemetry/log.h"

namespace paceline::shm {

/// By which method an operation went, why, and where others begin. A line; pure.
std::string explanation(OperationKind kind, std::size_t bytes, bool in_buffers,
                        const MethodTerms& terms);
/// Why it did not go by the method that is forced; empty where it did, or none is. Pure.
std::string objection(OperationKind kind, std::size_t bytes, bool in_buffers,
                      const MethodTerms& terms);

/// A line for each kind of operation, class of sizes (nothing, what fits a flag's cache line, what
/// is short, what is staged wherever it lies, what is long) and place of its arrays, when the first
/// of it has ended.
class MethodReport {
 public:
  /// What it says of operations: all, or only a warning where they do not go as they are forced to.
  enum class Says : std::uint8_t { kWarnings, kExplanations };

  MethodReport(std::shared_ptr<Log> log, Says says, const MethodTerms& terms);

  /// An operation whose contributions had so many bytes has ended well. How a communicator is
  /// closed nobody has asked.
  void note(OperationKind kind, std::size_t bytes, bool in_buffers);

 private:
  static constexpr std::size_t kClasses = 5;
  void tell(OperationKind kind, std::size_t bytes, bool in_buffers);

  const std::shared_ptr<Log> log_;  // owners: all that write to it
  const Says says_;
  const MethodTerms terms_;
  std::array<MethodChoice, std::size(kOperationKinds)> choices_;  // by kind
  std::array<std::array<bool, 2 * kClasses>, std::size(kOperationKinds)> told_{};
};

}  // namespace paceline::shm
