#include "launcher/system/process_stat.h"

#include <sstream>

namespace paceline::launcher {

// "pid (name) state …": the name may have any character, a parenthesis too.
std::optional<ProcessStat> parse_stat(std::string_view text) {
  const std::size_t begin = text.find('('), end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin) return std::nullopt;
  ProcessStat stat{.name = std::string(text.substr(begin + 1, end - begin - 1))};
  std::istringstream fields(std::string(text.substr(end + 1)));
  std::uint64_t user = 0, system = 0;
  std::string skipped;
  // The numbers of the fields in proc(5).
  int field = 3;
  const auto take = [&](int number, auto& value) {
    for (; field < number; ++field) fields >> skipped;
    fields >> value;
    ++field;
  };
  take(3, stat.state);
  take(4, stat.parent);
  take(5, stat.group);
  take(9, stat.flags);
  take(14, user);
  take(15, system);
  take(22, stat.start_time);
  if (!fields) return std::nullopt;
  stat.cpu_ticks = user + system;
  return stat;
}

}  // namespace paceline::launcher
