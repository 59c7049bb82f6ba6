// hwloc XML in tests: what is written, and the host that is read from it.
#pragma once

#include <string>
#include <string_view>

#include <paceline/status.h>

#include "topology/read/hwloc_xml.h"

namespace paceline::topology {

inline Result<HostModel> read_hwloc_text(std::string text) {
  auto document = XmlDocument::parse({"m.xml", std::move(text)});
  if (!document.ok()) return document.status();
  return read_hwloc_xml(**document);
}

inline std::string object(std::string_view type, std::string_view attributes,
                          std::string_view inside = "") {
  std::string text = "<object type=\"";
  text.append(type).append("\" ").append(attributes).append(">\n");
  return text.append(inside).append("</object>\n");
}

inline std::string info(std::string_view name, std::string_view value) {
  std::string text = "<info name=\"";
  return text.append(name).append("\" value=\"").append(value).append("\"/>\n");
}

/// Two packages with a NUMA node and two cores of two threads each; I/O may be put into both.
inline std::string two_packages(std::string_view version, std::string_view in_first = "",
                                std::string_view in_second = "", std::string_view behind = "") {
  const auto core = [](std::string_view mask) {
    return object("Core", std::string("cpuset=\"").append(mask).append("\""));
  };
  const auto package = [](std::string_view number, std::string_view mask, std::string inside,
                          std::string_view io) {
    std::string place = "os_index=\"";
    place.append(number).append("\" cpuset=\"").append(mask).append("\" gp_index=\"10");
    place.append(number).append("\"");
    const std::string node = object("NUMANode", place + " local_memory=\"1024\"");
    return object("Package", place, node + inside.append(io));
  };
  std::string text = "<topology version=\"";
  text.append(version).append("\">\n");
  text += object("Machine", "cpuset=\"0xff\"",
                 package("0", "0x0f", core("0x03") + core("0x0c"), in_first) +
                     package("1", "0xf0", core("0x30") + core("0xc0"), in_second));
  return text.append(behind).append("</topology>\n");
}

/// A host bridge with a device function of its own.
inline std::string function_below_host(std::string_view bus, std::string_view pci_type,
                                       std::string_view inside = "") {
  std::string attributes = "pci_busid=\"";
  attributes.append(bus).append("\" pci_type=\"").append(pci_type).append("\"");
  attributes.append(" pci_link_speed=\"31.507692\"");
  return object("Bridge", "bridge_type=\"0-1\"", object("PCIDev", attributes, inside));
}

/// An OS device by its name and its osdev_type.
inline std::string device(std::string_view name, std::string_view kind,
                          std::string_view inside = "") {
  std::string attributes = "name=\"";
  attributes.append(name).append("\" osdev_type=\"").append(kind).append("\"");
  return object("OSDev", attributes, inside);
}

}  // namespace paceline::topology
