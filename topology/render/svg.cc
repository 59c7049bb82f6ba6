#include <cstdio>
#include <string>

#include "topology/render/plain_text.h"
#include "topology/render/render.h"
#include "topology/render/svg_layout.h"

namespace paceline::topology {
namespace {

constexpr double kMargin = 12;

struct Paint {
  const char* fill;
  const char* border;
};

// Pale fills below dark text; what trains stands out by its colour, the rest is grey and sand.
Paint paint_of(BoxKind kind) {
  switch (kind) {
    case BoxKind::kHost:
      return {"#ffffff", "#64748b"};
    case BoxKind::kPackage:
      return {"#f1f5f9", "#94a3b8"};
    case BoxKind::kNode:
      return {"#ffffff", "#94a3b8"};
    case BoxKind::kBridge:
      return {"#faf3e3", "#cfb98a"};
    case BoxKind::kGpu:
      return {"#d3efdf", "#5aa67c"};
    case BoxKind::kNic:
      return {"#d9e6fb", "#6c93cf"};
    case BoxKind::kUnplaced:
      return {"#f8fafc", "#94a3b8"};
    case BoxKind::kNotes:
      break;
  }
  return {"#f8fafc", "#e2e8f0"};
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

void attribute(std::string& into, const char* name, const std::string& value) {
  into.append(" ").append(name).append("=\"").append(value).append("\"");
}

void write(std::string& into, const BoxText& text) {
  into += "<text";
  attribute(into, "x", number(text.x));
  attribute(into, "y", number(text.y));
  attribute(into, "font-size", number(text.size));
  attribute(into, "fill", text.is_title ? "#0f172a" : "#334155");
  if (text.is_title) attribute(into, "font-weight", "bold");
  into.append(">").append(xml_escaped(text.text)).append("</text>\n");
}

void write(std::string& into, const Box& box) {
  const Paint paint = paint_of(box.kind);
  into += "<rect";
  attribute(into, "x", number(box.x));
  attribute(into, "y", number(box.y));
  attribute(into, "width", number(box.width));
  attribute(into, "height", number(box.height));
  attribute(into, "rx", "5");
  attribute(into, "fill", paint.fill);
  attribute(into, "stroke", paint.border);
  if (box.kind == BoxKind::kUnplaced) attribute(into, "stroke-dasharray", "5 4");
  into += "/>\n";
  for (const BoxText& text : box.texts) write(into, text);
  for (const Box& inside : box.inside) write(into, inside);
}

}  // namespace

std::string svg_text(const HostModel& host) {
  const Box box = layout_of(host);
  const std::string width = number(box.width + 2 * kMargin);
  const std::string height = number(box.height + 2 * kMargin);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg";
  attribute(text, "xmlns", "http://www.w3.org/2000/svg");
  attribute(text, "version", "1.1");
  attribute(text, "width", width);
  attribute(text, "height", height);
  attribute(text, "viewBox",
            number(-kMargin) + " " + number(-kMargin) + " " + width + " " + height);
  attribute(text, "font-family", "sans-serif");
  text += ">\n<rect";
  attribute(text, "x", number(-kMargin));
  attribute(text, "y", number(-kMargin));
  attribute(text, "width", width);
  attribute(text, "height", height);
  attribute(text, "fill", "#ffffff");
  text += "/>\n";
  write(text, box);
  return text + "</svg>\n";
}

}  // namespace paceline::topology
