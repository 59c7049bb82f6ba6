// Outcome of every call that can fail.
//
//   paceline::Status status = communicator.all_reduce(std::span(gradients));
//   if (!status.ok()) std::cerr << status.to_string() << '\n';
//   communicator.all_reduce(std::span(gradients)).value();   // or: throws paceline::Error
//
// A success costs one null pointer; a failure carries what to do (Code), what is ruined (Scope),
// who (Culprit) and a sentence. A Status is a value: copying shares the immutable details, and any
// thread may read its own copy.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace paceline {

/// What the caller should do about it.
enum class Code : std::uint8_t {
  kOk,
  kInvalidArgument,  ///< mend the call: it can never succeed as it stands
  kMismatch,         ///< mend the program: ranks called different operations
  kTimeout,          ///< a deadline passed: find out why the named rank did not come
  kPeerLost,         ///< form a new group without the named rank
  kCancelled,        ///< nothing: somebody asked for it
  kUnavailable,      ///< try again later, or look at the named address
  kDenied,           ///< mend the key or the rights
  kExhausted,        ///< raise the named limit, or ask for less
  kInternal,         ///< report a defect of Paceline
};

/// How much can no longer be used.
enum class Scope : std::uint8_t { kNone, kOperation, kPeer, kGroup, kProcess };

/// Whom the error is about. Fields that are not known keep their defaults.
struct Culprit {
  int rank = -1;
  std::string host;
  std::string operation;       ///< in words: "all_reduce(1000 x float32, sum) #12"
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
  /// The sentence, without the culprit; empty for a success.
  const std::string& text() const;
  const Culprit& culprit() const;

  /// The same error with "context: " before its sentence; a success stays one.
  Status with_context(std::string_view context) const;
  /// The same error, said to be about `culprit`.
  Status with_culprit(Culprit culprit) const;

  /// One line for a person: code, sentence, rank, host and operation as far as they are known.
  std::string to_string() const;

  /// Throws Error unless ok(), for those who prefer exceptions.
  void value() const;

 private:
  struct Detail {
    Code code;
    Scope scope;
    std::string text;
    Culprit culprit;
  };
  std::shared_ptr<const Detail> detail_;  // owned by all copies of this Status
};

/// What value() throws; what() is Status::to_string().
class Error final : public std::runtime_error {
 public:
  explicit Error(Status status)
      : std::runtime_error(status.to_string()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// A T, or why there is none. Access is tl::expected's; value() throws Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}
  Result(Status error) : held_(tl::unexpect, std::move(error)) {}

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
