#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "topology/render/labels.h"
#include "topology/render/outline.h"
#include "topology/render/plain_text.h"
#include "topology/render/relations.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kFewestColumns = 40;
constexpr std::size_t kLevelColumns = 3;  // columns of one level of the tree

class TreeWriter {
 public:
  TreeWriter(const HostModel& host, std::size_t columns)
      : host_(host), columns_(std::max(columns, kFewestColumns)) {}

  std::string write() {
    const Group outline = drawn_outline_of(host_);
    label(label_of(host_, outline), "", "   ");
    below(outline, "");
    links();
    nearest();
    sources();
    for (const Warning& warning : host_.warnings) this->warning(warning);
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_.append(text).append("\n"); }

  // The facts begin on the title's line where the first of them has room.
  void label(Label label, const std::string& first, const std::string& others) {
    if (label.facts.empty()) return lines({std::move(label.title)}, first, others);
    std::string begin = label.title + ": " + label.facts.front();
    if (characters(others) + characters(begin) > columns_) {
      lines({label.title + ":"}, first, others);
      return lines(label.facts, others, others);
    }
    label.facts.front() = std::move(begin);
    lines(label.facts, first, others);
  }

  // Pieces in as many lines as they need.
  void lines(const std::vector<std::string>& pieces, const std::string& first,
             const std::string& others) {
    const std::string* before = &first;
    const std::size_t indent = std::max(characters(first), characters(others));
    for (const std::string& one : fill(pieces, {.columns = columns_ - indent})) {
      line(*before + one);
      before = &others;
    }
  }

  void below(const Group& group, const std::string& before) {
    for (const Group& inside : group.inside) {
      const bool is_last = &inside == &group.inside.back();
      const std::string bar = before + (is_last ? "   " : "│  ");
      label(label_of(host_, inside), before + (is_last ? "└─ " : "├─ "),
            bar + (inside.inside.empty() ? "   " : "│  "));
      // Deeper than half of the columns there would be no room for text.
      const bool too_deep = characters(bar) + 2 * kLevelColumns > columns_ / 2;
      below(inside, too_deep ? before : bar);
    }
  }

  void links() {
    for (const LinkGroup& group : link_groups(host_)) {
      std::vector<std::string> pieces = {"GPU links: " + group.what};
      for (const std::string& pair : group.pairs) pieces.push_back(pair);
      if (pieces.size() > 1) {
        pieces[1] = pieces[0] + ": " + pieces[1];
        pieces.erase(pieces.begin());
      }
      lines(pieces, "", "   ");
    }
  }

  void nearest() {
    std::vector<std::pair<std::string, NearestNics>> rows;
    std::size_t gpus = 3, nics = 11;  // of the heading
    for (NearestNics& row : nearest_nics(host_)) {
      std::string numbers = std::to_string(row.first_gpu);
      if (row.last_gpu > row.first_gpu) numbers.append("-").append(std::to_string(row.last_gpu));
      gpus = std::max(gpus, characters(numbers));
      nics = std::max(nics, characters(row.nics));
      rows.emplace_back(std::move(numbers), std::move(row));
    }
    if (rows.empty()) return;
    const std::size_t path = 16;  // "NODE, 123.4 GB/s"
    nics = std::min(nics, columns_ - gpus - path - 4);
    const auto cell = [](std::string text, std::size_t width) {
      text = cut(text, width);
      return text.append(width - characters(text) + 2, ' ');
    };
    line(cell("GPU", gpus) + cell("nearest NIC", nics) + "path");
    for (const auto& [numbers, row] : rows)
      line(cell(numbers, gpus) + cell(row.nics, nics) + row.path);
  }

  void sources() {
    if (host_.sources.empty()) return;
    std::vector<std::string> names;
    for (const std::string& source : host_.sources) names.push_back(printable(source));
    names.front() = (names.size() == 1 ? "source: " : "sources: ") + names.front();
    lines(names, "", "   ");
  }

  void warning(const Warning& warning) {
    std::string text = "warning: " + printable(warning.text);
    if (warning.source != kNobody && host_.sources.size() > 1)
      text.append(" (")
          .append(printable(host_.sources[static_cast<std::size_t>(warning.source)]))
          .append(")");
    std::string before;
    for (const std::string& one : fill_words(text, columns_ - kLevelColumns)) {
      line(before + one);
      before = "   ";
    }
  }

  const HostModel& host_;
  const std::size_t columns_;
  std::string text_;
};

}  // namespace

std::string tree_text(const HostModel& host, std::size_t columns) {
  return TreeWriter(host, columns).write();
}

}  // namespace paceline::topology
