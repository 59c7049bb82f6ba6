// From hosts and options to a plan: what the hosts are is asked or read, then planned.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/job/host_faults.h"
#include "launcher/options/host_plan.h"
#include "launcher/options/job_spec.h"
#include "launcher/system/event_loop.h"
#include "topology/cluster/cluster.h"
#include "topology/placement/model/plan.h"

namespace paceline::launcher {

struct Seating {
  topology::Cluster cluster;
  topology::Plan plan;
};

/// What a job's placement needs of files, read before anything starts.
struct PlacementFiles {
  std::string plan;          ///< text of --plan
  std::string measurements;  ///< text of --measured
};
Result<PlacementFiles> read_placement_files(const PlacementSpec& placement);

struct SeatingOptions {
  const PlacementFiles& files;
  std::function<void(const std::string& warning)> warn;
  HostFaults& faults;  ///< gets the hosts that an error is about
};

/// Asks the agents, whose hosts are the shares', drives the loop, and plans. Where a host cannot
/// say what it is and the user has not said where ranks go, they are bound to nothing, with a
/// warning.
Result<Seating> seat_job(EventLoop& loop, std::vector<HostAgent>& agents, const JobSpec& job,
                         const std::vector<HostShare>& shares, const SeatingOptions& options);

/// Plans for the hosts of --cluster: all of them, or those that -H or --hostfile name.
Result<Seating> seat_described_job(JobSpec job, const PlacementFiles& files);

/// What --dry-run and --save-plan show: text for people on standard output, JSON where it is to be.
Status show_plan(const Seating& seating, const PlacementSpec& placement);

}  // namespace paceline::launcher
