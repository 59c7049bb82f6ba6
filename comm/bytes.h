// Little-endian fields in byte strings: the alphabet of everything that crosses a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace paceline {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView as_byte_view(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string to_text(ByteView bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class ByteWriter {
 public:
  explicit ByteWriter(Bytes& into) : into_(into) {}

  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void put(T value) {
    std::uint64_t bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) {
      into_.push_back(static_cast<std::byte>(bits & 0xFF));
    }
  }
  void put_bytes(ByteView bytes) { into_.insert(into_.end(), bytes.begin(), bytes.end()); }
  /// A 32-bit length and the text.
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(as_byte_view(text));
  }

 private:
  Bytes& into_;
};

/// Reads what ByteWriter wrote. A field that is not there reads as zero or empty and makes ok()
/// false for good, so that a whole record is read first and judged once.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return bytes_.size(); }
  /// ok() and nothing left over.
  bool complete() const { return ok_ && bytes_.empty(); }

  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T> T get() {
    const ByteView field = take(sizeof(T));
    std::uint64_t bits = 0;
    for (std::size_t i = field.size(); i > 0; --i) {
      bits = bits << 8 | static_cast<std::uint64_t>(field[i - 1]);
    }
    return static_cast<T>(bits);
  }
  ByteView take(std::size_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const ByteView field = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return field;
  }
  /// Refuses texts over `limit` bytes before anything is allocated.
  std::string get_text(std::size_t limit) {
    const auto length = get<std::uint32_t>();
    return to_text(take(length <= limit ? length : SIZE_MAX));
  }

 private:
  ByteView bytes_;
  bool ok_ = true;
};

}  // namespace paceline
