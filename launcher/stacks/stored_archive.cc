#include "launcher/stacks/stored_archive.h"

#include <cstddef>
#include <cstdint>

#include <zlib.h>

namespace paceline::launcher {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryHeader = 0x02014b50,
                        kDirectoryEnd = 0x06054b50;
constexpr std::size_t kVersion = 10;     // that it takes to read stored files
constexpr std::size_t kFirstDay = 0x21;  // 1980-01-01; days begin at 1

void add(std::string& bytes, std::size_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
}

// The fields that both headers of a file have: version, flags, method, time, day, sum, sizes.
void add_facts(std::string& bytes, std::string_view name, std::string_view text) {
  add(bytes, kVersion, 2);
  add(bytes, 0, 2);
  add(bytes, 0, 2);
  add(bytes, 0, 2);
  add(bytes, kFirstDay, 2);
  add(bytes,
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())), 4);
  add(bytes, text.size(), 4);
  add(bytes, text.size(), 4);
  add(bytes, name.size(), 2);
  add(bytes, 0, 2);  // no extra field
}

}  // namespace

std::string stored_archive(std::string_view name, std::string_view text) {
  std::string bytes;
  add(bytes, kLocalHeader, 4);
  add_facts(bytes, name, text);
  bytes.append(name).append(text);
  const std::size_t directory = bytes.size();
  add(bytes, kDirectoryHeader, 4);
  add(bytes, kVersion, 2);
  add_facts(bytes, name, text);
  add(bytes, 0, 2);  // no comment
  add(bytes, 0, 2);  // first disk
  add(bytes, 0, 2);  // attributes
  add(bytes, 0, 4);
  add(bytes, 0, 4);  // where the local header is
  bytes.append(name);
  const std::size_t size = bytes.size() - directory;
  add(bytes, kDirectoryEnd, 4);
  add(bytes, 0, 2);
  add(bytes, 0, 2);
  add(bytes, 1, 2);  // files, here and in all
  add(bytes, 1, 2);
  add(bytes, size, 4);
  add(bytes, directory, 4);
  add(bytes, 0, 2);  // no comment
  return bytes;
}

}  // namespace paceline::launcher
