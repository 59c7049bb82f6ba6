// Where the boxes of a drawing of a host lie, and the text in them. Pure; svg.cc only writes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// What a character takes of its font's size, of most fonts that viewers have.
inline constexpr double kCharacterWidth = 0.6;

struct BoxText {
  std::string text;
  double x = 0, y = 0;  ///< where its first letter stands, on its line
  double size = 0;
  bool is_title = false;
};

enum class BoxKind : std::uint8_t {
  kHost,
  kPackage,
  kNode,
  kBridge,
  kGpu,
  kNic,
  kUnplaced,
  kNotes
};

/// In units of SVG, the origin in the upper left. Boxes lie inside of those they stand in and do
/// not overlap those beside them; text lies inside of its box, and over no other.
struct Box {
  BoxKind kind = BoxKind::kHost;
  double x = 0, y = 0, width = 0, height = 0;
  std::vector<BoxText> texts;
  std::vector<Box> inside;
};

/// The boxes of the host and its parts, and below them notes: links, sources, warnings.
Box layout_of(const HostModel& host);

}  // namespace paceline::topology
