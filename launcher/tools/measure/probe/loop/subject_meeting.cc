#include "launcher/tools/measure/probe/loop/subject_meeting.h"

#include <algorithm>

#include "comm/base/try.h"

namespace paceline::probe {

Result<std::vector<std::int64_t>> SubjectMeeting::share(std::span<const std::int64_t> own) {
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(subject_.size()));
  for (int rank = 0; rank < subject_.size(); ++rank) {
    std::int64_t* const row = all.data() + own.size() * static_cast<std::size_t>(rank);
    if (rank == subject_.rank()) std::copy(own.begin(), own.end(), row);
    PACELINE_TRY(subject_.broadcast({row, own.size(), DataType::kInt64}, rank));
  }
  return all;
}

}  // namespace paceline::probe
