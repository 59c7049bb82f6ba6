#include "topology/read/named_text.h"

#include <utility>

#include "comm/base/input_file.h"

namespace paceline::topology {

Result<NamedText> read_text_file(const std::string& path, std::size_t most_bytes) {
  Result<std::string> text = read_input(path, most_bytes);
  if (!text.ok()) return unreadable(path, 0, text.status().text());
  return NamedText{.name = path, .text = *std::move(text)};
}

Status unreadable(const std::string& name, std::size_t line, const std::string& reason) {
  std::string where = name;
  if (line != 0) where.append(":").append(std::to_string(line));
  return {Code::kInvalidArgument, Scope::kOperation, where.append(": ").append(reason)};
}

}  // namespace paceline::topology
