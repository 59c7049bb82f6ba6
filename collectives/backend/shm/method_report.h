// What people are told about the methods by which operations go through shared memory.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include <paceline/types.h>

#include "collectives/backend/shm/method.h"
#include "telemetry/log.h"

namespace paceline::shm {

/// An operation that has ended: `bytes` of each contribution, and the method by which it went.
struct Done {
  OperationKind kind{};
  std::size_t bytes = 0;
  Method method{};
};

/// By which method it went, why, and where others begin. A line; pure. `choice`: of its kind.
std::string explanation(const Done& done, const Choice& choice, const MethodTerms& terms);
/// Why it did not go by the method that is forced; empty where it did, or none is. Pure.
std::string objection(const Done& done, const MethodTerms& terms);

/// A line for each kind of operation, way of its size, and method, when the first of it has ended.
class MethodReport {
 public:
  /// What it says of operations: all, or only a warning where they do not go as they are forced to.
  enum class Says : std::uint8_t { kWarnings, kExplanations };

  MethodReport(std::shared_ptr<Log> log, Says says, const MethodTerms& terms)
      : log_(std::move(log)), says_(says), terms_(terms) {}

  /// How a communicator is closed nobody has asked.
  void note(const Done& done, const Choice& choice);

 private:
  const std::shared_ptr<Log> log_;  // owners: all that write to it
  const Says says_;
  const MethodTerms terms_;
  // Kind, the end of the sizes that go as it does, method, and whether it fits a flag's cache line.
  std::set<std::tuple<OperationKind, std::size_t, Method, bool>> told_;
};

}  // namespace paceline::shm
