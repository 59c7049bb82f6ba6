// The number of ranks of a job whose command line does not state it by -n. Pure.
#pragma once

#include <cstdint>
#include <span>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// Where the hosts of a job and their slots come from.
enum class HostSource : std::uint8_t {
  kNone,        ///< no option names a host: all ranks are here
  kHostOption,  ///< -H
  kFile,        ///< --hostfile, or --cluster
  kTasks,       ///< a Slurm allocation, by its tasks
  kCpus,        ///< a Slurm allocation without a number of tasks: the slots are its CPUs
};

/// Gives the programs without -n their numbers of ranks. A program that has hosts for itself gets N
/// ranks on each host with ppr:N:node. Otherwise it gets the slots of all hosts, at most -N on
/// each. A host without stated slots counts as -N. Without -N it counts as one for each time that
/// -H names it, as in Open MPI, and this host counts as one. With -n auto, CPUs of this host and of
/// an allocation count as slots, too. Several programs on the same hosts get one rank each if no
/// hosts are named.
///
/// Errors: a number that cannot be inferred, with the reason; a rank of --stdin or --console-ranks
/// that does not exist.
Status count_ranks(JobSpec& job, std::span<const HostSlots> hosts, HostSource source);

}  // namespace paceline::launcher
