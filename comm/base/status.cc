#include <paceline/status.h>

#include "comm/base/assert.h"

namespace paceline {

std::string_view name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kMismatch:
      return "mismatch";
    case Code::kTimeout:
      return "timeout";
    case Code::kPeerLost:
      return "peer lost";
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDenied:
      return "denied";
    case Code::kExhausted:
      return "exhausted";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown code";
}

std::string_view name(Scope scope) {
  switch (scope) {
    case Scope::kNone:
      return "nothing";
    case Scope::kOperation:
      return "operation";
    case Scope::kPeer:
      return "peer";
    case Scope::kGroup:
      return "group";
    case Scope::kProcess:
      return "process";
  }
  return "unknown scope";
}

Status::Status(Code code, Scope scope, std::string text, Culprit culprit)
    : detail_(std::make_shared<const Detail>(
          Detail{code, scope, std::move(text), std::move(culprit)})) {}

const std::string& Status::text() const {
  static const std::string& none = *new std::string;  // for destructors of static objects
  return ok() ? none : detail_->text;
}

const Culprit& Status::culprit() const {
  static const Culprit& none = *new Culprit;  // as above
  return ok() ? none : detail_->culprit;
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return *this;
  return Status(code(), scope(), std::string(context) + ": " + text(), culprit());
}

Status Status::with_culprit(Culprit culprit) const {
  if (ok()) return *this;
  return Status(code(), scope(), text(), std::move(culprit));
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  std::string line(name(code()));
  line += ": " + text();
  const Culprit& who = culprit();
  if (who.rank >= 0) line += " [rank " + std::to_string(who.rank);
  if (who.rank >= 0 && !who.host.empty()) line += " on " + who.host;
  if (who.rank >= 0) line += "]";
  if (!who.operation.empty()) line += " in " + who.operation;
  return line;
}

void Status::require_error() const {
  PACELINE_ASSERT(!ok() && "a Result needs a value or an error");
}

void Status::value() const {
  if (!ok()) throw Error(*this);
}

}  // namespace paceline
