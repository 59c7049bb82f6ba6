// NCCL's XML in tests: what is written, and the host that is read from it.
#pragma once

#include <string>

#include <paceline/status.h>

#include "topology/read/nccl_xml.h"

namespace paceline::topology {

inline Result<HostModel> read_xml(const std::string& text) {
  auto document = XmlDocument::parse({"t.xml", text});
  if (!document.ok()) return document.status();
  return read_nccl_xml(**document);
}

/// A file with one <cpu> that has all of `inner` below it, from line 3 on.
inline std::string one_cpu(const std::string& inner, const std::string& more = "") {
  return "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"0000000f\" arch=\"x86_64\"" + more +
         ">\n" + inner + "\n</cpu>\n</system>\n";
}

inline std::string gpu_xml(const std::string& bus, const std::string& inner = "") {
  return "<pci busid=\"" + bus + "\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">" +
         inner + "</pci>";
}

inline std::string numbered_gpu(const std::string& bus, int dev, const std::string& links = "") {
  return gpu_xml(bus, "<gpu dev=\"" + std::to_string(dev) + "\" sm=\"80\">" + links + "</gpu>");
}

inline std::string link(const std::string& target, int count,
                        const std::string& tclass = "0x030200") {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) + "\" tclass=\"" +
         tclass + "\"/>";
}

inline std::string xml_error(const std::string& text) {
  const auto host = read_xml(text);
  return host.ok() ? "no error" : host.status().text();
}

}  // namespace paceline::topology
