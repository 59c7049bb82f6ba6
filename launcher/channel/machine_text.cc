#include "launcher/channel/machine_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include <zlib.h>

#include "comm/base/digest.h"
#include "launcher/channel/deflated_text.h"
#include "topology/read/model_json.h"
#include "topology/render/render.h"

namespace paceline::launcher {
namespace {

constexpr std::uint64_t kMemoryGrain = std::uint64_t{1} << 28;

std::uint64_t rounded(std::uint64_t bytes) {
  return std::max(kMemoryGrain, (bytes + kMemoryGrain / 2) / kMemoryGrain * kMemoryGrain);
}

void forget_the_piece(topology::HostModel& host) {
  host.name.clear();
  for (topology::NumaNode& node : host.numa_nodes)
    if (node.memory_bytes > 0) node.memory_bytes = rounded(node.memory_bytes);
  for (topology::Gpu& gpu : host.gpus) gpu.uuid = {};
  for (topology::Nic& nic : host.nics) {
    nic.gid = {};
    nic.guid = {};
  }
}

// Empty where it is no such stream, or longer than a machine can be.
std::string inflated(const std::string& bytes) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, 16384> part;
  for (int state = inflater.ready ? Z_OK : Z_STREAM_ERROR; state != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    if (state == Z_OK) state = ::inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) return "";
    text.append(part.data(), part.size() - stream.avail_out);
    if (text.size() > topology::kMostFileBytes) return "";
  }
  return text;
}

}  // namespace

PackedMachine pack_machine(topology::HostModel host) {
  forget_the_piece(host);
  const std::string text = topology::model_json_text(host);
  return {.digest = digest(text), .bytes = deflated(text)};
}

Result<topology::HostModel> unpack_machine(const std::string& name, const std::string& bytes) {
  std::string text = inflated(bytes);
  if (text.empty())
    return Status(Code::kUnavailable, Scope::kPeer,
                  name + ": its agent's description of the machine cannot be decompressed");
  return topology::read_model_json({.name = name, .text = std::move(text)});
}

}  // namespace paceline::launcher
