#include "launcher/channel/evidence_stream.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <zlib.h>

#include "comm/base/assert.h"
#include "comm/base/try.h"
#include "launcher/channel/deflated_text.h"
#include "launcher/channel/frame.h"

namespace paceline::launcher {
namespace {

using messages::EvidenceItem;
using messages::EvidenceStart;

// The head adds to times, and subtracts them from each other.
constexpr std::int64_t kMostNs = INT64_MAX / 4;
constexpr int kMostRanks = 1 << 16;
// Items take more memory than their bytes.
constexpr std::size_t kMostItems = 4 << 20;

Status damaged(const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation, "the evidence is damaged: " + why);
}

Status check(const EvidenceStart& start) {
  if (start.version() != kEvidenceVersion)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "the evidence has version " + std::to_string(start.version()) +
                      "; this paceline reads version " + std::to_string(kEvidenceVersion));
  if (start.rank_hosts_size() > kMostRanks) return damaged("it has too many ranks");
  if (start.hosts_size() > kMostRanks) return damaged("it has too many hosts");
  for (const std::uint32_t host : start.rank_hosts())
    if (std::cmp_greater_equal(host, start.hosts_size()))
      return damaged("a rank is on host number " + std::to_string(host) + " of " +
                     std::to_string(start.hosts_size()));
  return {};
}

// Checks items one after the other.
class ItemCheck {
 public:
  Status take(const EvidenceItem& item) {
    if (item.time_ns() < time_ns_ || item.time_ns() > kMostNs)
      return damaged("its times are not in order");
    time_ns_ = item.time_ns();
    if (has_ended_) return damaged("something follows its last item");
    if (item.has_start()) {
      PACELINE_TRY(check(item.start()));
      if (epoch_ && item.start().epoch() <= *epoch_) return damaged("its starts are not in order");
      epoch_ = item.start().epoch();
      hosts_ = item.start().hosts_size();
      return {};
    }
    if (!epoch_) return damaged("its first item is not a start");
    if (!item.has_said() && !item.has_end()) return damaged("an item has no content");
    has_ended_ = item.has_end();
    if (item.has_said() && std::cmp_greater_equal(item.said().host(), hosts_))
      return damaged("a message is from host number " + std::to_string(item.said().host()) +
                     " of " + std::to_string(hosts_));
    return {};
  }

 private:
  std::int64_t time_ns_ = 0;
  std::optional<std::uint32_t> epoch_;
  int hosts_ = 0;
  bool has_ended_ = false;
};

// Moves whole frames to items.
Status take_items(FrameDecoder& frames, ItemCheck& check, std::vector<EvidenceItem>& items) {
  for (;;) {
    const auto frame = frames.next();
    if (!frame.ok()) return damaged(std::string(frame.status().text()));
    if (!*frame) return {};
    EvidenceItem item;
    if (!item.ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size())))
      return damaged("item " + std::to_string(items.size()) + " is not one of this form");
    PACELINE_TRY(check.take(item));
    if (items.size() == kMostItems) return damaged("it has too many items");
    items.push_back(std::move(item));
  }
}

EvidenceEnding ending_of(const std::vector<EvidenceItem>& items) {
  if (!items.back().has_end()) return EvidenceEnding::kBrokenOff;
  return items.back().end().cut().empty() ? EvidenceEnding::kWhole : EvidenceEnding::kCut;
}

}  // namespace

struct EvidencePacker::Deflater {
  z_stream stream{};
};

EvidencePacker::EvidencePacker() : deflater_(std::make_unique<Deflater>()) {
  const int begun = ::deflateInit(&deflater_->stream, Z_DEFAULT_COMPRESSION);
  PACELINE_ASSERT(begun == Z_OK);  // it fails for want of memory alone
}

EvidencePacker::~EvidencePacker() { ::deflateEnd(&deflater_->stream); }

void EvidencePacker::compress(std::string_view bytes, int flush) {
  z_stream& stream = deflater_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, 16384> part;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    ::deflate(&stream, flush);
    packed_.append(part.data(), part.size() - stream.avail_out);
  } while (stream.avail_out == 0);
}

void EvidencePacker::add(const EvidenceItem& item) {
  const Result<std::string> frame = encode_frame(item.SerializeAsString());
  if (!frame.ok()) return;
  compress(*frame, Z_NO_FLUSH);
  waiting_ += frame->size();
  expanded_ += frame->size();
}

std::string EvidencePacker::flush() {
  compress({}, Z_SYNC_FLUSH);
  flushed_ += packed_.size();
  waiting_ = 0;
  return std::exchange(packed_, {});
}

std::string EvidencePacker::finish() {
  compress({}, Z_FINISH);
  return std::exchange(packed_, {});
}

Result<Evidence> read_evidence(std::string_view file) {
  if (file.size() > kMostEvidenceBytes) return damaged("it is too long");
  Inflater inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  Evidence evidence;
  FrameDecoder frames;
  ItemCheck check;
  std::array<char, 65536> part;
  std::size_t expanded = 0;
  for (int state = inflater.ready ? Z_OK : Z_MEM_ERROR; state != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    if (state == Z_OK) state = ::inflate(&stream, Z_NO_FLUSH);
    const std::size_t size = part.size() - stream.avail_out;
    if (state == Z_BUF_ERROR && size == 0) break;  // the rest is missing
    if (state != Z_OK && state != Z_STREAM_END) return damaged("zlib cannot decompress it");
    expanded += size;
    if (expanded > kMostExpandedBytes) return damaged("it expands to more than 1 GiB");
    frames.append({part.data(), size});
    PACELINE_TRY(take_items(frames, check, evidence.items));
    if (state == Z_STREAM_END && (stream.avail_in > 0 || frames.partial()))
      return damaged("it does not end with an item");
  }
  if (evidence.items.empty()) return damaged("it has no items");
  evidence.ending = ending_of(evidence.items);
  return evidence;
}

}  // namespace paceline::launcher
