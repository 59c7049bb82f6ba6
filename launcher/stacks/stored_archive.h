// A zip archive of one file that is not compressed, as Python imports from. Pure.
//
// Source: PKWARE's APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16.
#pragma once

#include <string>
#include <string_view>

namespace paceline::launcher {

/// `name` and `text` are shorter than 64 KiB.
std::string stored_archive(std::string_view name, std::string_view text);

}  // namespace paceline::launcher
