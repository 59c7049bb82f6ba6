// What the dashboard's page gets, as JSON on one line. Pure.
//
//   the first message of a viewer: {"job": …, "points": […], "events": […]}
//   each second:                   {"job": …, "point": …, "events": […]}
//
// Events have numbers: a message repeats the newest ones, because a viewer that reads slowly misses
// messages.
#pragma once

#include <string>

#include "launcher/proto/job_v1.pb.h"
#include "launcher/web/job_history.h"

namespace paceline::launcher {

std::string first_message(const job::v1::Snapshot& snapshot, const JobHistory& history);
std::string next_message(const job::v1::Snapshot& snapshot, const JobHistory& history);

}  // namespace paceline::launcher
