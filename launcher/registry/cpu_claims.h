// Which CPUs the jobs of one user on one host are bound to, so that no two take the same.
//
//   <place>/paceline-<uid>/    locked (flock) by an agent of the job that plans just now
//     <job id>/
//       plans                  is there while this is the job that does
//       cpus.<pid>             what an agent has bound ranks to: a list as in comm/base/cpu_set.h
//
// A claim goes with its job's folder, and the lock with its process, however that ends.
#pragma once

#include <string>
#include <vector>

#include "comm/base/cpu_set.h"
#include "comm/base/unique_fd.h"
#include "launcher/registry/registry.h"

namespace paceline::launcher {

/// One agent's view of them. One thread.
class CpuClaims {
 public:
  CpuClaims(JobRegistry::Options options, std::string job_id)
      : options_(std::move(options)), job_id_(std::move(job_id)) {}

  /// Whether nobody else plans now: then nobody else will until this object claims or goes. Agents
  /// of one job do not wait for each other. Where nothing can be written down it is true.
  bool reserve();
  /// What each other job that runs now is bound to.
  std::vector<CpuSet> of_others() const;
  /// Writes down what this agent's ranks are bound to, and lets others plan. Where the job itself
  /// is not written down nothing is.
  void claim(const CpuSet& cpus);

 private:
  const JobRegistry::Options options_;
  const std::string job_id_;
  UniqueFd lock_;
};

}  // namespace paceline::launcher
