// paceline topo: what this machine is, or what a file says that another is.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/system/complain.h"
#include "launcher/system/new_file.h"
#include "launcher/system/system.h"
#include "launcher/tools/topo/topo_options.h"
#include "topology/placement/host/seats.h"
#include "topology/read/live.h"
#include "topology/read/merge.h"
#include "topology/read/read_host.h"
#include "topology/render/render.h"
#include "topology/render/seats_text.h"

namespace paceline::launcher {
namespace {

using topology::HostModel;

// A terminal's own width; beside it what most people have.
std::size_t columns() {
  constexpr std::size_t kUsual = 100, kLeast = 40;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < kLeast) return kUsual;
  return size.ws_col;
}

std::string text_of(const HostModel& host, TopoFormat format) {
  switch (format) {
    case TopoFormat::kTree:
      return topology::tree_text(host, columns());
    case TopoFormat::kJson:
      return topology::model_json_text(host);
    case TopoFormat::kDot:
      return topology::dot_text(host);
    case TopoFormat::kSvg:
      return topology::svg_text(host);
    case TopoFormat::kNcclXml:
      return topology::nccl_xml_text(host);
    case TopoFormat::kHwlocXml:
      return topology::hwloc_xml_text(host);
    case TopoFormat::kMatrix:
      return topology::matrix_text(host);
  }
  return "";
}

Result<HostModel> read(const TopoRequest& request) {
  if (request.inputs.empty()) return topology::read_this_machine();
  PACELINE_TRY_ASSIGN(HostModel host, topology::read_host(request.inputs.front()));
  for (std::size_t i = 1; i < request.inputs.size(); ++i) {
    PACELINE_TRY_ASSIGN(const HostModel other, topology::read_host(request.inputs[i]));
    PACELINE_TRY_ASSIGN(host, topology::merge(std::move(host), other));
  }
  return host;
}

topology::LeftOut left_out(const HostModel& host, TopoFormat format) {
  if (format == TopoFormat::kHwlocXml) return topology::left_out_of_hwloc_xml(host);
  if (format == TopoFormat::kNcclXml) return topology::left_out_of_nccl_xml(host);
  const bool has_devices = !host.gpus.empty() || !host.nics.empty();
  if (format == TopoFormat::kMatrix && !has_devices)
    return {.fields = {}, .sentences = {"the matrix is empty: the machine has no GPU and no NIC"}};
  return {};
}

// Formats other than tree and JSON cannot contain warnings.
void print_warnings(const HostModel& host, const TopoRequest& request) {
  const bool tells = request.format == TopoFormat::kTree || request.format == TopoFormat::kJson;
  if (tells && request.ranks == 0) return;
  for (const topology::Warning& warning : host.warnings)
    std::fprintf(stderr, "paceline: warning: %s\n", warning.text.c_str());
  if (request.ranks != 0) return;
  for (const std::string& text : left_out(host, request.format).sentences)
    std::fprintf(stderr, "paceline: warning: %s\n", text.c_str());
}

Result<std::string> shown(const HostModel& host, const TopoRequest& request) {
  if (request.ranks == 0) return text_of(host, request.format);
  PACELINE_TRY_ASSIGN(const std::vector<topology::Seat> seats,
                      topology::seat_ranks(host, {.ranks = request.ranks, .crosses_hosts = true}));
  return request.format == TopoFormat::kJson ? topology::seats_json_text(host, seats)
                                             : topology::seats_text(host, seats);
}

Status topo(const TopoRequest& request) {
  std::unique_ptr<NewFile> file;
  if (!request.output_file.empty()) {
    PACELINE_TRY_ASSIGN(file, NewFile::make(request.output_file));
  }
  PACELINE_TRY_ASSIGN(const HostModel host, read(request));
  print_warnings(host, request);
  PACELINE_TRY_ASSIGN(const std::string text, shown(host, request));
  return file ? file->keep(text) : print_out(text);
}

}  // namespace

int topo_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::fputs(topo_help().c_str(), stdout);
    return 0;
  }
  const Result<TopoRequest> request = parse_topo(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline topo --help");
  const Status shown = topo(*request);
  return shown.ok() ? 0 : complain(shown.text());
}

}  // namespace paceline::launcher
