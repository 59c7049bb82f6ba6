// Words for the state of a rank at one moment. Pure.
#pragma once

#include <string>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// "worker 2"
std::string member_text(const job::v1::Member& member);
/// "12.0 s"
std::string lasting_text(double seconds);
/// "barrier #3, running for 5.2 s", "barrier #3, ended 5.2 s ago"; empty: it has begun none.
std::string operation_text(const job::v1::Operation& operation);

/// Why the processes of the rank make no progress: "it is stopped by a signal". Empty: not known,
/// as always without Rank.processes.
std::string stop_text(const job::v1::Rank& rank);
/// Words for the work of a rank while others wait for it: "it is stopped by a signal", "it waits:
/// write to descriptor 1, a pipe", "it is in spin() at spin.cc:3 (train)". With less to go by, its
/// last operation. `host` is its own.
std::string activity_text(const job::v1::Rank& rank, const job::v1::Host& host);

/// The stacks of its processes, as indented lines with newlines; empty: there are none.
std::string stacks_text(const job::v1::Rank& rank);

/// Agents send a message each second. After so long without one a host counts as silent.
inline constexpr double kSilentSeconds = 3;

}  // namespace paceline::launcher
