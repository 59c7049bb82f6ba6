#include "topology/read/read_host.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/read/hwloc_machine.h"
#include "topology/read/hwloc_xml.h"
#include "topology/read/matrix.h"
#include "topology/read/model_json.h"
#include "topology/read/nccl_xml.h"

namespace paceline::topology {
namespace {

constexpr const char* kForms =
    "hwloc XML, NCCL or RCCL XML, `nvidia-smi topo -m`, `rocm-smi --showtopo`, `amd-smi topology`, "
    "`paceline topo --format json`, or a folder with a copy of /sys";

// How far into a file a sign of what it is may stand.
constexpr std::size_t kHeadBytes = 4096;

struct Sign {
  std::string_view begins;    // the file
  std::string_view contains;  // its head
  const char* sentence;
};

// What people have lying beside the files that can be read.
constexpr Sign kOthers[] = {
    {"BZh", "", "a bzip2 archive; unpack it and use its folder"},
    {"\x1f\x8b", "", "a gzip archive; unpack it and use its folder"},
    {"\xfd"
     "7zXZ",
     "", "an xz archive; unpack it and use its folder"},
    {"PK\x03\x04", "", "a zip archive; unpack it"},
    {"", "Machine (", "text output of lstopo; use the file that `lstopo machine.xml` writes"},
    {"", "Machine L#0", "text output of lstopo; use the file that `lstopo machine.xml` writes"},
    {"", "nThread", "output of nccl-tests, which does not describe a machine"},
    {"", "NCCL INFO", "a log of NCCL; set NCCL_TOPO_DUMP_FILE, and use the file that NCCL writes"},
    {"", "ibnetdiscover", "output of ibnetdiscover, which does not describe a host"},
    {"", "# Topology file: generated on",
     "output of ibnetdiscover, which does not describe a host"},
    {"", "Switch guid", "a list of InfiniBand ports, which does not describe a host"},
    {"CA '", "CA type", "output of ibstat, which does not show where ports are attached"},
};

std::string_view without_blanks(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// The header of a matrix names GPUs and comes before the rows. The header that this project writes
// for a machine without devices names none. amd-smi names GPUs by address. `rocm-smi
// --showtoponuma` has no table.
bool is_matrix(std::string_view text) {
  if (text.find("LINK TYPE TABLE") != text.npos) return true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view word = without_blanks(line);
    if (word.starts_with("GPU0") || word.starts_with("NIC0\t") || word.starts_with("GPU[0]") ||
        word.starts_with("\x1b[4mGPU0") || word.starts_with("CPU Affinity\t"))
      return true;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

Status refuse(const NamedText& file, const std::string& reason) {
  return unreadable(file.name, 0, reason);
}

Status refuse_unknown(const NamedText& file) {
  const std::string_view head = std::string_view(file.text).substr(0, kHeadBytes);
  for (const Sign& sign : kOthers)
    if (head.starts_with(sign.begins) && head.find(sign.contains) != head.npos)
      return refuse(file, sign.sentence);
  if (head.find('\0') != head.npos) return refuse(file, "not a text file");
  return refuse(file, std::string("unknown format; known are: ") + kForms);
}

Result<HostModel> read_xml(const NamedText& file) {
  PACELINE_TRY_ASSIGN(const std::unique_ptr<XmlDocument> document, XmlDocument::parse(file));
  const std::string root = document->root().name();
  if (root == "topology") return read_hwloc_xml(*document);
  if (root == "system") return read_nccl_xml(*document);
  if (root == "graphs")
    return document->wrong(document->root(),
                           "graphs that NCCL computed from a topology; use the topology itself "
                           "(NCCL_TOPO_DUMP_FILE)");
  return document->wrong(
      document->root(),
      std::string("<")
          .append(printable(root))
          .append("> is neither the root of hwloc XML (<topology>) nor of NCCL XML (<system>)"));
}

}  // namespace

Result<HostModel> read_host_text(const NamedText& file) {
  const std::string_view begin = without_blanks(file.text);
  if (begin.empty()) return refuse(file, "empty");
  if (begin.front() == '<') return read_xml(file);
  if (begin.front() == '{') return read_model_json(file);
  if (is_matrix(file.text)) return read_matrix(file);
  return refuse_unknown(file);
}

Result<HostModel> read_host(const std::string& given) {
  const std::string path = given == "-" ? "/dev/stdin" : given;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return read_sysfs_tree(path);
  if (error || !std::filesystem::exists(path, error))
    return unreadable(path, 0, error ? error.message() : "no such file");
  PACELINE_TRY_ASSIGN(const NamedText file, read_text_file(path));
  return read_host_text(file);
}

}  // namespace paceline::topology
