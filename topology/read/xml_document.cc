#include "topology/read/xml_document.h"

#include <algorithm>
#include <charconv>

#include "comm/base/text.h"

namespace paceline::topology {
namespace {

struct DepthWalker final : pugi::xml_tree_walker {
  pugi::xml_node deepest;
  bool for_each(pugi::xml_node& node) override {
    if (depth() < XmlDocument::kMostDepth) return true;
    deepest = node;
    return false;
  }
};

}  // namespace

XmlDocument::XmlDocument(const NamedText& file) : name_(file.name) {
  for (std::size_t at = file.text.find('\n'); at != std::string::npos;
       at = file.text.find('\n', at + 1))
    line_ends_.push_back(at);
}

Result<std::unique_ptr<XmlDocument>> XmlDocument::parse(const NamedText& file) {
  std::unique_ptr<XmlDocument> document(new XmlDocument(file));
  const pugi::xml_parse_result parsed = document->document_.load_buffer(
      file.text.data(), file.text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed)
    return unreadable(file.name, document->line_at(parsed.offset),
                      std::string("invalid XML: ").append(parsed.description()));
  DepthWalker walker;
  document->document_.traverse(walker);
  if (walker.deepest)
    return document->wrong(walker.deepest, "elements are nested deeper than " +
                                               std::to_string(kMostDepth) + " levels");
  return document;
}

std::size_t XmlDocument::line_at(std::ptrdiff_t offset) const {
  const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
  const auto before = std::ranges::lower_bound(line_ends_, at) - line_ends_.begin();
  return static_cast<std::size_t>(before) + 1;
}

std::size_t XmlDocument::line_of(pugi::xml_node node) const { return line_at(node.offset_debug()); }

Status XmlDocument::wrong(pugi::xml_node where, const std::string& reason) const {
  return unreadable(name_, line_of(where), reason);
}

Result<std::uint64_t> XmlDocument::number(pugi::xml_node node, const char* attribute,
                                          std::uint64_t otherwise) const {
  std::string_view text = text_of(node, attribute);
  if (!node.attribute(attribute)) return otherwise;
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error == std::errc() && stop == end && !text.empty()) return value;
  return wrong(node, std::string(attribute) + "=\"" + printable(text_of(node, attribute)) +
                         "\" is not a number");
}

}  // namespace paceline::topology
