// A table for a terminal. Pure.
#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// Rows of as many cells as the first one has, each row a line. Columns are as wide as their widest
/// cell; lines have no blanks at their end.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace paceline::launcher
