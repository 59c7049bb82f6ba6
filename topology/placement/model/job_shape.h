// What a placement has to know of a job: how many ranks and servers, and who talks with whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <paceline/status.h>

namespace paceline::topology {

enum class Traffic : std::uint8_t {
  kAllReduce,   ///< around the ring of a group's ranks in their order
  kNeighbours,  ///< each rank with the next of its group, both ways: a pipeline
  kAllToAll,    ///< each rank with each other of its group
};

/// What a rank's buffer of a dimension is in a step, in MB, where nobody says: about that of a
/// model with 10^9 parameters on each rank and 32 layers, in numbers of 2 bytes, that sees 2 pieces
/// of 4096 tokens, whose activations are 34 MB. Whatever the model is, tensor parallel sends the
/// most and a pipeline the least; it is their order that keeps groups of the former within hosts.
inline constexpr double kTensorMb = 8000;     ///< activations, 4 times for each layer and piece
inline constexpr double kContextMb = 4000;    ///< keys and values: half of that
inline constexpr double kExpertMb = 4000;     ///< tokens there and back, in every second layer
inline constexpr double kGradientsMb = 2000;  ///< dp and any other name: once a step
inline constexpr double kPipelineMb = 70;     ///< activations once for each piece, each way

/// One way in which a job's ranks are cut: tensor, pipeline, data parallel and so on. With several,
/// rank = c0 + size0 * (c1 + size1 * (c2 + ...)), the first being the innermost; ranks that differ
/// in one coordinate alone are a group of it.
struct Dimension {
  std::string name;
  int size = 1;
  Traffic traffic = Traffic::kAllReduce;
  double mb_a_step = 0;  ///< of each rank's buffer, in MB (10^6 bytes)

  bool operator==(const Dimension&) const = default;
};

enum class ServersOn : std::uint8_t {
  kSpread,     ///< beside workers, and on spare hosts, by the best split of the links
  kDedicated,  ///< only on hosts without ranks
  kHosts,      ///< only on those named
};

struct JobShape {
  int ranks = 1;
  std::vector<Dimension> dimensions;  ///< their sizes' product is `ranks`; never empty
  int cores_each = 0;                 ///< 0: all there are, in equal shares
  bool uses_gpus = true;
  int servers = 0;  ///< with any, they carry what carried_by_servers() says
  ServersOn servers_on = ServersOn::kSpread;
  std::vector<std::string> server_hosts;  ///< with kHosts
};

/// Of a job with servers, the place of the dimension that does not talk among itself, since its
/// buffers go through the servers: the last that all-reduces; of a job without such the last.
std::size_t carried_by_servers(const JobShape& job);

/// "tp=4,pp=2,dp=": names, sizes and what each sends by the names that people use: tp, cp and dp
/// all-reduce, pp neighbours, ep all-to-all; any other name an all-reduce. One size at most may be
/// left out. An empty text is "dp=". Errors name what is wrong: a product that is not `ranks`, a
/// name twice, a size that is none.
Result<std::vector<Dimension>> parse_dimensions(const std::string& text, int ranks);

}  // namespace paceline::topology
