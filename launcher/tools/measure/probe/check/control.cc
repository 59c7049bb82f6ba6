#include "launcher/tools/measure/probe/check/control.h"

#include <cstdint>

#include "comm/base/try.h"

namespace paceline::probe {
namespace {

constexpr std::uint64_t kMaxText = std::uint64_t{16} << 20;

}  // namespace

Result<std::vector<std::string>> Control::gather(const std::string& own) {
  if (!leads()) {
    PACELINE_TRY(send(own, 0));
    return std::vector<std::string>();
  }
  std::vector<std::string> texts{own};
  for (int peer = 1; peer < size(); ++peer) {
    PACELINE_TRY_ASSIGN(std::string text, receive(peer));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::string> Control::share(const std::string& text) {
  if (!leads()) return receive(0);
  for (int peer = 1; peer < size(); ++peer) PACELINE_TRY(send(text, peer));
  return text;
}

Status Control::send(const std::string& text, int peer) {
  const std::uint64_t bytes = text.size();
  PACELINE_TRY(communicator_.send(&bytes, 1, DataType::kUInt64, peer));
  return bytes == 0 ? Status() : communicator_.send(text.data(), bytes, DataType::kUInt8, peer);
}

Result<std::string> Control::receive(int peer) {
  std::uint64_t bytes = 0;
  PACELINE_TRY(communicator_.receive(&bytes, 1, DataType::kUInt64, peer));
  if (bytes > kMaxText)
    return Status(Code::kInternal, Scope::kOperation, "a text of the check is too long");
  std::string text(bytes, '\0');
  if (bytes == 0) return text;
  PACELINE_TRY(communicator_.receive(text.data(), bytes, DataType::kUInt8, peer));
  return text;
}

}  // namespace paceline::probe
