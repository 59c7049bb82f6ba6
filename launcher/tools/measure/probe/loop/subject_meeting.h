// A meeting by means of what is measured: for ranks that share no memory, or were given none.
#pragma once

#include "launcher/tools/measure/probe/loop/meeting.h"
#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

/// `subject` is borrowed. Its barrier lets ranks go at somewhat different times, which goes into
/// what is measured, and moments of different ranks do not compare.
class SubjectMeeting final : public Meeting {
 public:
  explicit SubjectMeeting(Subject& subject) : subject_(subject) {}

  Status meet() override { return subject_.barrier(); }
  Result<std::vector<std::int64_t>> share(std::span<const std::int64_t> own) override;
  bool has_one_clock() const override { return false; }

 private:
  Subject& subject_;
};

}  // namespace paceline::probe
