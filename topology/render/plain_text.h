// Text for people: what strangers wrote made harmless, numbers with units, lines that fit.
//
// Columns are counted in characters: code points of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::topology {

/// printable() of comm/base/text.h, for an attribute or the text of an XML element.
std::string xml_escaped(std::string_view text);

std::size_t characters(std::string_view text);
/// At most `most` characters, the last one an ellipsis where something is missing.
std::string cut(const std::string& text, std::size_t most);

struct Filling {
  std::string_view separator = ", ";  ///< a line that goes on ends with it, less its blank
  std::size_t columns = 80;           ///< at least 2
};
/// Pieces in lines. Only a piece that is longer than a line is broken, behind a comma or at a
/// blank, and only where it has neither it is cut.
std::vector<std::string> fill(const std::vector<std::string>& pieces, const Filling& filling);
/// A sentence in lines.
std::vector<std::string> fill_words(std::string_view sentence, std::size_t columns);

/// "32 MiB", "1.5 TiB".
std::string bytes_text(std::uint64_t bytes);
/// "31.5 GB/s".
std::string speed_text(std::uint64_t mb_per_s);
/// "200 Gbit/s".
std::string rate_text(std::uint64_t mbit_per_s);

}  // namespace paceline::topology
