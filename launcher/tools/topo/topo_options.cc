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
    "Shows the hardware of this machine: packages, NUMA nodes, cores, PCIe, GPUs, NICs, and the\n"
    "links between them. With --input it shows a described machine.\n"
    "\n"
    "  --input FILE|FOLDER    Read a description instead of this machine. Several describe the\n"
    "                         same machine, and differences are reported. - is standard input\n"
    "  --format FORMAT        tree (default), json, dot, svg, nccl-xml, hwloc-xml, matrix\n"
    "  --output FILE          Write to a file, completely or not at all\n"
    "  --ranks N              Show the best placement of N ranks of a job on several hosts: GPU,\n"
    "                         NIC, CPUs and memory of each rank, and the reasons; also with\n"
    "                         --format json\n"
    "  -h, --help             This page\n"
    "\n"
    "Input: hwloc XML of versions 1 to 3, a folder with a copy of /sys, topology XML of NCCL and\n"
    "RCCL, or json of this command. Also the output of `nvidia-smi topo -m`,\n"
    "`rocm-smi --showtopo` or `amd-smi topology`. The content of a file decides its kind, not the\n"
    "name. This machine is read by hwloc, NVML and sysfs.\n"
    "\n"
    "Output: a tree to read, json with the source of each fact, dot for Graphviz, svg drawings,\n"
    "nccl-xml for NCCL_TOPO_FILE, hwloc-xml for hwloc and lstopo, matrix as of nvidia-smi.\n"
    "A warning lists what nccl-xml or hwloc-xml cannot state; json states everything.\n"
    "\n"
    "Kinds of paths, from near to far:\n"
    "  LOC   the same device\n"
    "  NVL   NVLink or XGMI, without PCIe\n"
    "  PIX   one PCIe switch\n"
    "  PXB   several PCIe switches\n"
    "  PHB   a PCIe host bridge\n"
    "  NODE  host bridges of one NUMA node\n"
    "  SYS   links between NUMA nodes\n"
    "  NET   another host\n"
    "\n"
    "A line \"warning:\" reports a value that is impossible, or that two sources state\n"
    "differently. The value of the first source is used.\n"
    "\n"
    "Exit code:\n"
    "  0    success\n"
    "  125  a description cannot be read; the error has file, line and reason\n"
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
    .name = "topo", .options = kOptions, .hint = "use --input for a description"};

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
  return usage_error("--format: '" + word + "' is not one of " + list_text(known) +
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
    return usage_error("--ranks needs --format json or tree");
  return request;
}

std::string topo_help() { return std::string(kHelp); }

}  // namespace paceline::launcher
