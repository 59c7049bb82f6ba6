#include "launcher/engines/slurm_nodes.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

std::map<std::string, std::string> environment;

const char* look_up(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

TEST(SlurmNodes, SlotsAreTasksWhereTasksWereAskedFor) {
  environment = {{"SLURM_JOB_NODELIST", "n[1-2]"},
                 {"SLURM_TASKS_PER_NODE", "2(x2)"},
                 {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"}};
  EXPECT_FALSE(has_slurm_tasks(look_up));
  EXPECT_EQ(slurm_hosts(look_up).value().front(), (HostSlots{"n1", 8}));
  environment["SLURM_NTASKS"] = "4";
  EXPECT_TRUE(has_slurm_tasks(look_up));
  EXPECT_EQ(slurm_hosts(look_up).value().back(), (HostSlots{"n2", 2}));
}

TEST(SlurmNodes, HetGroupsAloneAreRefused) {
  environment = {};
  EXPECT_TRUE(check_het_groups(look_up).ok());
  environment = {{"SLURM_HET_SIZE", "2"},
                 {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                 {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"}};
  EXPECT_EQ(check_het_groups(look_up).text(),
            "this Slurm allocation has het groups (SLURM_JOB_NODELIST_HET_GROUP_0=n1), and one "
            "step cannot start agents in all of them; name hosts by -H or --hostfile with --engine "
            "ssh, or use --engine local for this host only");
  environment["SLURM_JOB_NODELIST"] = "n1";
  EXPECT_TRUE(check_het_groups(look_up).ok());
}

TEST(SlurmNodes, OneOfSeveralTasksIsRefused) {
  environment = {};
  EXPECT_TRUE(check_slurm_step(look_up).ok());
  for (const char* one : {"", "1", "x"}) {
    environment = {{"SLURM_STEP_NUM_TASKS", one}};
    EXPECT_TRUE(check_slurm_step(look_up).ok()) << one;
  }
  environment = {{"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_NE(check_slurm_step(look_up).text().find("this is one of 2 tasks of an srun step, and "
                                                  "each would start the whole job"),
            std::string::npos);
  environment["SLURM_PTY_PORT"] = "40000";  // srun --pty bash
  EXPECT_TRUE(check_slurm_step(look_up).ok());
}

}  // namespace
}  // namespace paceline::launcher
