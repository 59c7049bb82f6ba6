#include "topology/read/named_text.h"

namespace paceline::topology {

Status unreadable(const std::string& name, std::size_t line, const std::string& reason) {
  std::string where = name;
  if (line != 0) where.append(":").append(std::to_string(line));
  return {Code::kInvalidArgument, Scope::kOperation, where.append(": ").append(reason)};
}

}  // namespace paceline::topology
