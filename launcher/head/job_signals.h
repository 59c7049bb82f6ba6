// Signals of the user and requests of the job's clients, from the start of a job to its end: before
// the job has a head, while it runs, and while its agents end.
#pragma once

#include <memory>
#include <vector>

#include <paceline/status.h>

#include "launcher/control/control_service.h"
#include "launcher/head/head.h"
#include "launcher/system/end_requests.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

struct SignalTarget {
  Head* head = nullptr;
  std::unique_ptr<ControlService> control;  // whose clients signal, too; null: the job has none
  EndRequests requests;                     // without a head
  int early = 0;                            // the signal that has ended the start of the job
  bool leaving = false;                     // the job is over; its agents are waited for
};

/// The signals that the process of a job watches.
std::vector<int> signals_to_heed();

/// A signal of this process.
void signalled(int signal, SignalTarget& target, EventLoop& loop);

/// Does what a client of the control service asks for.
Status asked(const SignalCame& came, SignalTarget& target, EventLoop& loop);

}  // namespace paceline::launcher
