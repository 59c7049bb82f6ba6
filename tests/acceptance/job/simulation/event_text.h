// Events of a job in words, for schedules that are shown.
#pragma once

#include <string>

#include "launcher/job/job_event.h"

namespace paceline::launcher::testing {

std::string text_of(const JobEvent& event);

}  // namespace paceline::launcher::testing
