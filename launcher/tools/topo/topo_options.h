// The arguments of `paceline topo`. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

enum class TopoFormat { kTree, kJson, kDot, kSvg, kNcclXml, kHwlocXml, kMatrix };

struct TopoRequest {
  std::vector<std::string> inputs;  ///< empty: this machine
  TopoFormat format = TopoFormat::kTree;
  std::string output_file;  ///< empty: standard output
  int ranks = 0;            ///< how many to seat on it; 0: none
};

/// `arguments` begin after the word topo. An error says which word is wrong, and what was likely
/// meant.
Result<TopoRequest> parse_topo(std::span<const std::string> arguments);

/// One screen.
std::string topo_help();

}  // namespace paceline::launcher
