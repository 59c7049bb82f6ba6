#include "topology/read/named_text.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace paceline::topology {

Result<NamedText> read_text_file(const std::string& path, std::size_t most_bytes) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return unreadable(path, 0, std::strerror(errno));
  NamedText file{.name = path, .text = std::string(most_bytes + 1, '\0')};
  stream.read(file.text.data(), static_cast<std::streamsize>(file.text.size()));
  if (stream.bad()) return unreadable(path, 0, std::strerror(errno));
  file.text.resize(static_cast<std::size_t>(stream.gcount()));
  if (file.text.size() > most_bytes)
    return unreadable(path, 0, "larger than " + std::to_string(most_bytes >> 20) + " MiB");
  return file;
}

Status unreadable(const std::string& name, std::size_t line, const std::string& reason) {
  std::string where = name;
  if (line != 0) where.append(":").append(std::to_string(line));
  return {Code::kInvalidArgument, Scope::kOperation, where.append(": ").append(reason)};
}

}  // namespace paceline::topology
