// JSON whose every mistake has a line, and where in a document a value is. nlohmann behind it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <paceline/status.h>

#include "topology/read/named_text.h"

namespace paceline::topology {

inline constexpr std::size_t kMostJsonDepth = 64;

/// The document: nested at most kMostJsonDepth deep, with each key once in its object. An error
/// names the file, and the line of what is no JSON.
Result<nlohmann::json> parse_json(const NamedText& file);

/// The way from the top of a document to a value. Each step lives as long as those behind it.
struct JsonPath {
  const JsonPath* before = nullptr;
  std::string_view key;   ///< of an object
  std::size_t index = 0;  ///< in a list, where there is no key

  JsonPath operator/(std::string_view next) const { return {.before = this, .key = next}; }
  JsonPath operator/(std::size_t next) const { return {.before = this, .index = next}; }
  /// "gpus[3].pci.bridge"; empty for the document.
  std::string text() const;
};

}  // namespace paceline::topology
