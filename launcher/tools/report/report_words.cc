#include "launcher/tools/report/report_words.h"

#include <cmath>

#include "comm/base/text.h"
#include "launcher/tools/measure/text_format.h"
#include "topology/render/plain_text.h"

namespace paceline::launcher {

std::string share_words(double share) {
  const double percent = 100 * share;
  return text(std::abs(percent) < 0.95 && std::abs(percent) >= 0.05 ? "%.1f %%" : "%.0f %%",
              std::abs(percent) < 0.05 ? 0 : percent);
}

std::string change_words(double change) {
  return (change < 0 ? "−" : "+") + share_words(std::abs(change));
}

std::string number_words(double number) {
  const bool has_fraction = std::abs(number) < 999.5, is_huge = std::abs(number) >= 1e9;
  return text(has_fraction || is_huge ? "%.3g" : "%.0f", number);
}

std::string step_words(double seconds) {
  const double ms = 1e3 * seconds;
  if (ms < 1) return number_words(1e3 * ms) + " us";
  return ms < 1e3 ? number_words(ms) + " ms" : number_words(seconds) + " s";
}

std::string duration_words(double seconds) {
  if (seconds < 100) return text(seconds < 10 ? "%.2g s" : "%.0f s", seconds);
  const double minutes = seconds / 60;
  if (minutes < 10) return text("%.1f min", minutes);
  return minutes < 100 ? text("%.0f min", minutes) : text("%.1f h", minutes / 60);
}

std::string bytes_words(double bytes) {
  if (bytes < 1e3) return text("%.0f B", bytes);
  if (bytes < 1e6) return number_words(bytes / 1e3) + " kB";
  return bytes < 1e9 ? number_words(bytes / 1e6) + " MB" : number_words(bytes / 1e9) + " GB";
}

std::string operation_words(const std::string& kind, const std::string& group) {
  return group.empty() ? kind : kind + " of group " + group;
}

std::string html(const std::string& words, std::size_t most) {
  return topology::xml_escaped(topology::cut(printable(words), most));
}

}  // namespace paceline::launcher
