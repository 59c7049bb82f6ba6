// Numbers with units, and what others wrote, for a report. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace paceline::launcher {

/// "12 %", "0.4 %".
std::string share_words(double share);
/// "+12 %", "−0.4 %".
std::string change_words(double change);
/// Three digits: "4.92 ms", "1.20 s".
std::string step_words(double seconds);
/// For people: "35 s", "8 min", "2.5 h".
std::string duration_words(double seconds);
/// "1.2 GB"; GB = 10⁹ bytes.
std::string bytes_words(double bytes);
/// Three digits, or all before the point: "0.0123", "48100".
std::string number_words(double number);
/// "all_reduce of group dp"; the group of all ranks has no name.
std::string operation_words(const std::string& kind, const std::string& group);
/// At most `most` characters, harmless in HTML and SVG, in attributes, too.
std::string html(const std::string& words, std::size_t most = 2000);

}  // namespace paceline::launcher
