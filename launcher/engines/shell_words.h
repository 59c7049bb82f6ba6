// Words as a shell reads and writes them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

/// Cuts at blanks; '…', "…" and \ keep them. Nothing else is special.
Result<std::vector<std::string>> split_words(std::string_view text);

/// The word so that any shell reads it as it is.
std::string quote_word(const std::string& word);

}  // namespace paceline::launcher
