// The outcome of a call that can fail: Status, or Result<T> if the call returns a value.
//
// Example:
//   const paceline::Status status = world.all_reduce(std::span(gradients));
//   if (!status.ok()) std::cerr << status.to_string() << '\n';
//   world.all_reduce(std::span(gradients)).value();  // or: throws paceline::Error
//
// A failure has a Code (what the caller should do), a Scope (what can no longer be used), a Culprit
// (the rank, host and operation that failed) and a sentence. A success costs one null pointer. A
// Status is a value: copies share immutable details, and any thread may read its own copy.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace paceline {

/// The kind of error, by what the caller should do.
enum class Code : std::uint8_t {
  kOk,
  kInvalidArgument,  ///< fix the call: it cannot succeed with these arguments
  kMismatch,         ///< fix the program: ranks called different operations
  kTimeout,          ///< a timeout expired: find out why the named rank did not answer
  kPeerLost,         ///< create a new group without the named rank
  kCancelled,        ///< nothing: a caller cancelled the operation
  kUnavailable,      ///< try again later, or check the named address
  kDenied,           ///< fix the key or the permissions
  kExhausted,        ///< raise the named limit, or ask for less
  kInternal,         ///< report a bug in Paceline
};

/// The part that can no longer be used after the error.
enum class Scope : std::uint8_t { kNone, kOperation, kPeer, kGroup, kProcess };

/// The rank and operation that caused the error. Unknown fields keep their defaults.
struct Culprit {
  int rank = -1;
  std::string host;
  std::string operation;       ///< for messages: "all_reduce(1000 x float32, sum) #12"
  std::int64_t sequence = -1;  ///< number of the operation in its communicator, from 0

  bool operator==(const Culprit&) const = default;
};

std::string_view name(Code code);
std::string_view name(Scope scope);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, Scope scope, std::string text, Culprit culprit = {});

  bool ok() const { return detail_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : detail_->code; }
  Scope scope() const { return ok() ? Scope::kNone : detail_->scope; }
  /// The sentence, without the culprit. Empty for a success. Valid as long as this Status.
  const std::string& text() const;
  const Culprit& culprit() const;

  /// A copy with "context: " before the sentence. A success stays a success.
  Status with_context(std::string_view context) const;
  /// A copy with another culprit.
  Status with_culprit(Culprit culprit) const;

  /// One line to print: code, sentence, and the known ones of rank, host and operation.
  std::string to_string() const;

  /// Throws Error unless ok(), for callers that prefer exceptions.
  void value() const;
  /// Ends the program with a message if ok(), for code that has nothing but an error to go on with.
  void require_error() const;

 private:
  struct Detail {
    Code code;
    Scope scope;
    std::string text;
    Culprit culprit;
  };
  std::shared_ptr<const Detail> detail_;  // owned by all copies of this Status
};

/// The exception that value() throws. Its what() is Status::to_string().
class Error final : public std::runtime_error {
 public:
  explicit Error(Status status)
      : std::runtime_error(status.to_string()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// A T or an error. Access works as in tl::expected: * and -> need ok(), value() throws Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}
  /// `error` must be an error: there is no T that a success could mean. Else the program ends with
  /// a message (SIGABRT).
  Result(Status error) : held_(tl::unexpect, std::move(error)) { held_.error().require_error(); }

  bool ok() const { return held_.has_value(); }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : held_.error(); }

  T& operator*() & { return *held_; }
  const T& operator*() const& { return *held_; }
  T&& operator*() && { return *std::move(held_); }
  T* operator->() { return &*held_; }
  const T* operator->() const { return &*held_; }

  T& value() & { return status().value(), *held_; }
  const T& value() const& { return status().value(), *held_; }
  T&& value() && { return status().value(), *std::move(held_); }

 private:
  tl::expected<T, Status> held_;
};

}  // namespace paceline
