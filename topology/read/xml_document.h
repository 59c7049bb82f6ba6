// XML whose every mistake has a line. pugixml behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include <paceline/status.h>

#include "topology/read/named_text.h"

namespace paceline::topology {

/// Elements are nested at most kMostDepth deep, so that readers may recurse. Its nodes live as long
/// as it does.
class XmlDocument final {
 public:
  static constexpr int kMostDepth = 64;

  /// An error says in which line what is wrong.
  static Result<std::unique_ptr<XmlDocument>> parse(const NamedText& file);

  XmlDocument(const XmlDocument&) = delete;
  XmlDocument& operator=(const XmlDocument&) = delete;

  const std::string& name() const { return name_; }
  pugi::xml_node root() const { return document_.document_element(); }

  /// "NAME:12: reason".
  Status wrong(pugi::xml_node where, const std::string& reason) const;
  std::size_t line_of(pugi::xml_node node) const;

  /// An attribute's number; `otherwise` where it is missing; an error where it is there and no such
  /// number, in base 10 or, after 0x, 16.
  Result<std::uint64_t> number(pugi::xml_node node, const char* attribute,
                               std::uint64_t otherwise) const;

 private:
  explicit XmlDocument(const NamedText& file);
  std::size_t line_at(std::ptrdiff_t offset) const;

  std::string name_;
  std::vector<std::size_t> line_ends_;  // offsets of the newlines
  pugi::xml_document document_;
};

/// An attribute's text; empty where it is missing.
inline std::string_view text_of(pugi::xml_node node, const char* attribute) {
  return node.attribute(attribute).value();
}

}  // namespace paceline::topology
