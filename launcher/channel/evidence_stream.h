// The stream of evidence.proto: what `paceline run --evidence` writes, and how it is read. Pure.
//
//   EvidencePacker packer;
//   packer.add(item);
//   file.append(packer.flush());  // what was added can be read now
//   file.append(packer.finish());
//   read_evidence(text_of_the_file)->items;
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/evidence.pb.h"

namespace paceline::launcher {

inline constexpr std::uint32_t kEvidenceVersion = 1;
/// Max bytes of a file, and of the stream before compression.
inline constexpr std::size_t kMostEvidenceBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMostExpandedBytes = std::size_t{1} << 30;

class EvidencePacker final {
 public:
  EvidencePacker();
  ~EvidencePacker();
  EvidencePacker(const EvidencePacker&) = delete;
  EvidencePacker& operator=(const EvidencePacker&) = delete;

  /// An item that is longer than a frame may be is left out.
  void add(const messages::EvidenceItem& item);
  /// The bytes since the call before, up to all that was added.
  std::string flush();
  /// Nothing may be added afterwards.
  std::string finish();

  /// Bound on the bytes of the file, if the stream ended now.
  std::size_t most_bytes() const { return flushed_ + waiting_ + kSpare; }
  /// Bytes of the stream before compression.
  std::size_t expanded_bytes() const { return expanded_; }

 private:
  struct Deflater;
  // zlib stores what it cannot compress, with 5 bytes for each 16 KiB, and a header and a sum.
  static constexpr std::size_t kSpare = 64 << 10;

  void compress(std::string_view bytes, int flush);

  const std::unique_ptr<Deflater> deflater_;
  std::string packed_;
  std::size_t flushed_ = 0, waiting_ = 0, expanded_ = 0;
};

enum class EvidenceEnding : std::uint8_t {
  kWhole,
  kCut,       ///< it became too long
  kBrokenOff  ///< the head was killed, or its disk was full
};

struct Evidence {
  /// The first one is a start, and each start has a later epoch than the one before. Messages are
  /// from hosts of the start before them. Times never go back.
  std::vector<messages::EvidenceItem> items;
  EvidenceEnding ending{};
};

/// Code::kInvalidArgument says in words what is wrong with a file that is damaged, or is none.
Result<Evidence> read_evidence(std::string_view file);

}  // namespace paceline::launcher
