#include "topology/render/svg_layout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "comm/base/text.h"
#include "topology/render/labels.h"
#include "topology/render/outline.h"
#include "topology/render/plain_text.h"
#include "topology/render/relations.h"

namespace paceline::topology {
namespace {

constexpr double kPadding = 10, kGap = 10;
constexpr double kMaxWidth = 1800;    // of boxes side by side
constexpr double kLineHeight = 1.35;  // of a font's size
constexpr double kTitleWidth = 1.1;   // bold letters are wider
constexpr std::size_t kMaxWarnings = 20;

struct Style {
  double title = 12, fact = 11;  // sizes of fonts
  double least_width = 0;
};

Style style_of(BoxKind kind) {
  switch (kind) {
    case BoxKind::kHost:
      return {.title = 16, .fact = 12, .least_width = 420};
    case BoxKind::kPackage:
      return {.title = 14, .fact = 12, .least_width = 240};
    case BoxKind::kNode:
      return {.title = 13, .fact = 11, .least_width = 220};
    case BoxKind::kNotes:
      return {.title = 12, .fact = 11, .least_width = 420};
    default:
      return {.title = 12, .fact = 11, .least_width = 178};
  }
}

BoxKind kind_of(Group::Kind kind) {
  switch (kind) {
    case Group::Kind::kHost:
      return BoxKind::kHost;
    case Group::Kind::kPackage:
      return BoxKind::kPackage;
    case Group::Kind::kNode:
      return BoxKind::kNode;
    case Group::Kind::kBridge:
      return BoxKind::kBridge;
    case Group::Kind::kGpu:
      return BoxKind::kGpu;
    case Group::Kind::kNic:
      return BoxKind::kNic;
    case Group::Kind::kUnplaced:
      break;
  }
  return BoxKind::kUnplaced;
}

std::size_t columns_in(double width, double size) {
  const double columns = width / (size * kCharacterWidth);
  return static_cast<std::size_t>(std::max(columns, 4.0));
}

// Boxes of one kind in rows and columns; the columns are those of all rows.
struct Grid {
  std::vector<std::size_t> boxes;  // places in what is inside
  std::vector<double> widths, heights;

  double width() const { return total(widths); }
  double height() const { return total(heights); }

 private:
  static double total(const std::vector<double>& sizes) {
    const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    return all + kGap * static_cast<double>(std::max<std::size_t>(sizes.size(), 1) - 1);
  }
};

// How many stand side by side: packages one below the other, the rest rather wide than high.
std::size_t columns_of(BoxKind kind, std::size_t boxes) {
  constexpr std::size_t kMostNodes = 4;
  if (kind == BoxKind::kPackage || kind == BoxKind::kUnplaced || kind == BoxKind::kNotes) return 1;
  if (kind == BoxKind::kNode) return std::min(boxes, kMostNodes);
  return static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(boxes))));
}

// What stands in one grid: those of one kind one after another, devices with devices.
BoxKind grid_kind(const Box& box) { return box.kind == BoxKind::kNic ? BoxKind::kGpu : box.kind; }

void measure(Grid& grid, const std::vector<Box>& inside, std::size_t columns) {
  grid.widths.assign(columns, 0);
  grid.heights.assign((grid.boxes.size() + columns - 1) / columns, 0);
  for (std::size_t i = 0; i < grid.boxes.size(); ++i) {
    const Box& box = inside[grid.boxes[i]];
    double& width = grid.widths[i % columns];
    double& height = grid.heights[i / columns];
    width = std::max(width, box.width);
    height = std::max(height, box.height);
  }
}

// Fewer side by side where all of them are wider than a page.
std::vector<Grid> grids_of(const std::vector<Box>& inside) {
  std::vector<Grid> grids;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (i == 0 || grid_kind(inside[i]) != grid_kind(inside[i - 1])) grids.emplace_back();
    grids.back().boxes.push_back(i);
  }
  for (Grid& grid : grids) {
    std::size_t columns = columns_of(inside[grid.boxes.front()].kind, grid.boxes.size());
    measure(grid, inside, columns);
    while (grid.width() > kMaxWidth && columns > 1) measure(grid, inside, --columns);
  }
  return grids;
}

// Adds lines below those that are there; the height that they end at.
double add_lines(Box& box, const std::vector<std::string>& lines, double from,
                 const BoxText& like) {
  for (const std::string& line : lines) {
    from += like.size * kLineHeight;
    box.texts.push_back({.text = line,
                         .x = kPadding,
                         .y = from - like.size * (kLineHeight - 1),
                         .size = like.size,
                         .is_title = like.is_title});
  }
  return from;
}

// Text in as many lines as the width asks for; the height that it ends at.
double add_label(Box& box, const Label& label, double width) {
  const Style style = style_of(box.kind);
  const double room = width - 2 * kPadding;
  const auto title = fill_words(label.title, columns_in(room, style.title * kTitleWidth));
  const double end = add_lines(box, title, kPadding, {.size = style.title, .is_title = true});
  const auto facts = fill(label.facts, {.columns = columns_in(room, style.fact)});
  return add_lines(box, facts, end, {.size = style.fact});
}

// From the inside out: how large each box is at least. Text stands where it belongs in its box.
Box measured(const HostModel& host, const Group& group) {
  Box box{.kind = kind_of(group.kind)};
  for (const Group& inside : group.inside) box.inside.push_back(measured(host, inside));
  double inner_width = 0, inner_height = 0;
  for (const Grid& grid : grids_of(box.inside)) {
    inner_width = std::max(inner_width, grid.width());
    inner_height += kGap + grid.height();
  }
  box.width = std::max(style_of(box.kind).least_width, inner_width + 2 * kPadding);
  const double text_end = add_label(box, label_of(host, group), box.width);
  box.height = text_end + inner_height + kPadding;
  return box;
}

double text_end(const Box& box) {
  if (box.texts.empty()) return kPadding;
  const BoxText& last = box.texts.back();
  return last.y + last.size * (kLineHeight - 1);
}

void place(Box& box, double x, double y);

// Rows and columns from here on, as wide as their parent: what is left over is divided evenly.
void place_grid(Box& parent, const Grid& grid, double x, double y) {
  const std::size_t columns = grid.widths.size();
  const double left_over = parent.width - 2 * kPadding - grid.width();
  const double more = std::max(left_over, 0.0) / static_cast<double>(columns);
  double at_x = x, at_y = y;
  for (std::size_t i = 0; i < grid.boxes.size(); ++i) {
    Box& box = parent.inside[grid.boxes[i]];
    box.width = grid.widths[i % columns] + more;
    box.height = grid.heights[i / columns];
    place(box, at_x, at_y);
    at_x += box.width + kGap;
    if ((i + 1) % columns != 0) continue;
    at_x = x;
    at_y += box.height + kGap;
  }
}

// From the outside in: where each box lies, which is as wide as there is room.
void place(Box& box, double x, double y) {
  box.x = x;
  box.y = y;
  double below = y + text_end(box);
  for (BoxText& text : box.texts) {
    text.x += x;
    text.y += y;
  }
  for (const Grid& grid : grids_of(box.inside)) {
    below += kGap;
    place_grid(box, grid, x + kPadding, below);
    below += grid.height();
  }
}

bool is_in_table(const LinkGroup& group) {
  return group.end == LinkEnd::kGpu && !group.pairs.empty();
}

std::string table_title(const std::vector<LinkGroup>& groups) {
  std::set<std::string> kinds;
  for (const LinkGroup& group : groups)
    if (is_in_table(group)) kinds.insert(group.what.substr(0, group.what.find(" x")));
  const std::vector<std::string> words(kinds.begin(), kinds.end());
  return "GPU links, " + list_text(words) + " (+: number not known)";
}

// The links of pairs of GPUs, where not all pairs are alike.
Box link_table(const HostModel& host, const std::string& title) {
  constexpr double kFirstColumn = 52, kColumn = 27;
  const double size = style_of(BoxKind::kNotes).fact, line = size * kLineHeight;
  const std::vector<std::vector<std::string>> cells = link_cells(host);
  Box table{.kind = BoxKind::kNotes};
  double y = kPadding + size;
  const auto add = [&](double x, const std::string& text, bool is_title) {
    table.texts.push_back({.text = text, .x = x, .y = y, .size = size, .is_title = is_title});
  };
  const auto x_of = [&](std::size_t column) {
    return kPadding + kFirstColumn + kColumn * static_cast<double>(column);
  };
  add(kPadding, title, true);
  y += line;
  for (std::size_t gpu = 0; gpu < cells.size(); ++gpu) add(x_of(gpu), std::to_string(gpu), true);
  for (std::size_t row = 0; row < cells.size(); ++row) {
    y += line;
    add(kPadding, "GPU " + std::to_string(row), true);
    for (std::size_t column = 0; column < cells.size(); ++column)
      if (!cells[row][column].empty()) add(x_of(column), cells[row][column], false);
  }
  table.width = x_of(cells.size()) + kPadding;
  table.height = y + size * (kLineHeight - 1) + kPadding;
  return table;
}

// False where the table does not fit the width: the notes have the links then.
bool add_link_table(const HostModel& host, Box& box) {
  const std::vector<LinkGroup> groups = link_groups(host);
  if (std::ranges::none_of(groups, is_in_table)) return false;
  Box table = link_table(host, table_title(groups));
  if (table.width > box.width - 2 * kPadding) return false;
  box.height += kGap + table.height;
  box.inside.push_back(std::move(table));
  return true;
}

std::vector<std::string> notes_of(const HostModel& host, bool has_table) {
  std::vector<std::string> notes;
  for (const LinkGroup& group : link_groups(host))
    if (!has_table || !is_in_table(group))
      notes.push_back("GPU links: " + group.what + (group.pairs.empty() ? "" : ": ") +
                      joined(group.pairs, ", "));
  std::vector<std::string> sources;
  for (const std::string& source : host.sources) sources.push_back(printable(source));
  if (!sources.empty()) notes.push_back("source: " + joined(sources, ", "));
  const std::size_t told = std::min(host.warnings.size(), kMaxWarnings);
  for (std::size_t i = 0; i < told; ++i)
    notes.push_back("warning: " + printable(host.warnings[i].text));
  if (host.warnings.size() > told)
    notes.push_back(count_text(host.warnings.size() - told, "warning") + " more");
  return notes;
}

void add_notes(const HostModel& host, Box& box) {
  const bool has_table = add_link_table(host, box);
  const std::vector<std::string> notes = notes_of(host, has_table);
  if (notes.empty()) return;
  Box text{.kind = BoxKind::kNotes, .width = box.width - 2 * kPadding};
  const double size = style_of(text.kind).fact;
  double end = kPadding;
  for (const std::string& note : notes)
    end = add_lines(text, fill_words(note, columns_in(text.width - 2 * kPadding, size)), end,
                    {.size = size});
  text.height = end + kPadding;
  box.height += kGap + text.height;
  box.inside.push_back(std::move(text));
}

}  // namespace

Box layout_of(const HostModel& host) {
  Box box = measured(host, drawn_outline_of(host));
  add_notes(host, box);
  place(box, 0, 0);
  return box;
}

}  // namespace paceline::topology
