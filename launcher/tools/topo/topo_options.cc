#include "launcher/tools/topo/topo_options.h"

#include <algorithm>
#include <string_view>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/options/plain_options.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kHelp =
    "usage: paceline topo [--input FILE|FOLDER]… [--format FORMAT] [--output FILE] [--ranks N]\n"
    "What this machine is: packages, NUMA nodes, cores, PCIe, GPUs, NICs, and what lies between\n"
    "them; or what a file says that another machine is.\n"
    "\n"
    "  --input FILE|FOLDER    A description of a machine instead of this one; with several, they\n"
    "                         are of one machine, and what they say differently is told; - is\n"
    "                         standard input\n"
    "  --format FORMAT        tree (default), json, dot, svg, nccl-xml, hwloc-xml, matrix\n"
    "  --output FILE          Into a file, which is whole or not there\n"
    "  --ranks N              Where so many ranks of a job on several hosts would best sit on it:\n"
    "                         GPU, NIC, CPUs and memory of each, and why; also as json\n"
    "  -h, --help             This page\n"
    "\n"
    "It reads hwloc's XML of versions 1 to 3, a folder with a gathered /sys, topology XML of NCCL\n"
    "and RCCL, the matrix of `nvidia-smi topo -m` and `rocm-smi --showtopotype`, and its own "
    "json,\n"
    "by what they are, not by their names. Of this machine it asks hwloc, NVML and sysfs.\n"
    "\n"
    "It writes a tree for people, json with who said what, graphs for Graphviz, drawings, a file\n"
    "for NCCL_TOPO_FILE, one for hwloc and lstopo, and the matrix of nvidia-smi.\n"
    "\n"
    "Kinds of paths, from near to far: LOC the same device; NVL links past PCIe; PIX one PCIe\n"
    "switch; PXB several; PHB a PCIe host bridge; NODE host bridges of one NUMA node; SYS links\n"
    "between NUMA nodes; NET another host.\n"
    "\n"
    "A line that begins with doubt: tells what a source says and cannot be so, or what two say\n"
    "differently; the first one counts.\n"
    "\n"
    "Exit code: 0; 125 where a description cannot be read: file, line and reason are told.\n"
    "\n"
    "Examples:\n"
    "  paceline topo\n"
    "  paceline topo --format svg --output machine.svg\n"
    "  ssh node1 nvidia-smi topo -m | paceline topo --input machine.xml --input -\n"
    "  paceline topo --ranks 8\n"
    "  paceline topo --format nccl-xml > topo.xml && NCCL_TOPO_FILE=topo.xml ./train\n";

constexpr PlainOption kOptions[] = {
    {"--input", true}, {"--format", true}, {"--output", true}, {"--ranks", true}};
constexpr PlainCommand kCommand{
    .name = "topo", .options = kOptions, .hint = "a description stands behind --input"};

struct FormatWord {
  std::string_view word;
  TopoFormat format;
};
constexpr FormatWord kFormats[] = {
    {"tree", TopoFormat::kTree},        {"json", TopoFormat::kJson},
    {"dot", TopoFormat::kDot},          {"svg", TopoFormat::kSvg},
    {"nccl-xml", TopoFormat::kNcclXml}, {"hwloc-xml", TopoFormat::kHwlocXml},
    {"matrix", TopoFormat::kMatrix},
};

Result<TopoFormat> parse_format(const std::string& word) {
  const auto found = std::ranges::find(kFormats, word, &FormatWord::word);
  if (found != std::end(kFormats)) return found->format;
  std::vector<std::string> known;
  for (const FormatWord& format : kFormats) known.emplace_back(format.word);
  return usage_error("--format: '" + word + "' is none of " + list_text(known) +
                     did_you_mean(word, known));
}

Result<int> parse_ranks(const std::string& word) {
  const Result<int> ranks = parse_count(word);
  return ranks.ok() ? ranks : ranks.status().with_context("--ranks");
}

}  // namespace

Result<TopoRequest> parse_topo(std::span<const std::string> arguments) {
  TopoRequest request;
  PACELINE_TRY_ASSIGN(const std::vector<GivenOption> given, given_options(kCommand, arguments));
  for (const GivenOption& option : given) {
    if (option.name == "--input") {
      request.inputs.push_back(option.value);
    } else if (option.name == "--output") {
      request.output_file = option.value;
    } else if (option.name == "--ranks") {
      PACELINE_TRY_ASSIGN(request.ranks, parse_ranks(option.value));
    } else {
      PACELINE_TRY_ASSIGN(request.format, parse_format(option.value));
    }
  }
  if (request.ranks != 0 && request.format != TopoFormat::kTree &&
      request.format != TopoFormat::kJson)
    return usage_error("--ranks goes with --format json, or with none");
  return request;
}

std::string topo_help() { return std::string(kHelp); }

}  // namespace paceline::launcher
