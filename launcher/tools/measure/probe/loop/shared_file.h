// Memory that the ranks of one host share: a file that somebody else has made, mapped.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <paceline/status.h>

namespace paceline::probe {

/// A resource: mapped until it is destroyed.
class SharedFile {
 public:
  /// Maps its first `bytes`. The file grows to that size where it is shorter, with zeros; every
  /// rank maps as many bytes, so it does not matter who comes first.
  static Result<SharedFile> open(const std::string& path, std::size_t bytes);

  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile();

  std::span<std::byte> memory() const { return memory_; }

 private:
  explicit SharedFile(std::span<std::byte> memory) : memory_(memory) {}

  std::span<std::byte> memory_;
};

}  // namespace paceline::probe
