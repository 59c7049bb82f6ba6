// The engines that there are, one .cc each: for the table in engine.cc.
#pragma once

#include "launcher/engines/engine.h"

namespace paceline::launcher {

/// A program of the user's per host (--launch-agent), such as `kubectl exec -i {host} --`.
Result<std::unique_ptr<Engine>> make_command_engine(const EngineOptions& options);
/// ssh, one per host, that asks nothing.
Result<std::unique_ptr<Engine>> make_ssh_engine(const EngineOptions& options);
/// `paceline lab exec HOST`: the hosts are namespaces of this one.
Result<std::unique_ptr<Engine>> make_lab_engine(const EngineOptions& options);
/// One step of srun, inside of an allocation.
Result<std::unique_ptr<Engine>> make_slurm_engine(const EngineOptions& options);
/// Open MPI's mpirun, one per host: it knows PBS, LSF and others.
Result<std::unique_ptr<Engine>> make_mpirun_engine(const EngineOptions& options);

}  // namespace paceline::launcher
