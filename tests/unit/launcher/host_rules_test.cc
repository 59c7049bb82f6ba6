#include "launcher/tools/measure/check/host_rules.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

probe::HostFacts good_facts() {
  return {.cpus_online = 8,
          .cpus_allowed = 8,
          .memory_bytes = std::uint64_t{64} << 30,
          .memory_available_bytes = std::uint64_t{60} << 30,
          .numa_nodes = 2,
          .numa_balancing = "0",
          .governor = "performance",
          .smt = "off",
          .thp = "madvise",
          .memlock_bytes = 65536,
          .open_files = 1 << 20,
          .shm_bytes = std::uint64_t{32} << 30,
          .shm_free_bytes = std::uint64_t{32} << 30,
          .tmp_free_bytes = std::uint64_t{8} << 30,
          .receive_buffer_bytes = 6 << 20,
          .send_buffer_bytes = 4 << 20,
          .device = "eth0",
          .driver = "mlx5_core",
          .mtu = 9000,
          .rate_mbit = 100'000};
}

probe::Measurements three_hosts() {
  probe::Measurements measured{.hosts = {"a", "b", "c"}};
  measured.facts.assign(3, good_facts());
  return measured;
}

// What is not fine on host b, in the order of the rules.
std::string wrong_with(const probe::Measurements& measured) {
  std::string all;
  for (const Finding& one : find_on_hosts(measured)) {
    if (one.fine) continue;
    EXPECT_EQ(one.host, "b") << one.what;
    EXPECT_FALSE(one.why.empty() || one.advice.empty() || one.found.empty()) << one.what;
    all.append(all.empty() ? "" : ", ").append(one.what);
  }
  return all;
}

std::string wrong_where(void (*change)(probe::HostFacts&)) {
  probe::Measurements measured = three_hosts();
  change(measured.facts[1]);
  return wrong_with(measured);
}

using Facts = probe::HostFacts;

TEST(HostRules, GoodHostsHaveNothingWrong) { EXPECT_EQ(wrong_with(three_hosts()), ""); }

TEST(HostRules, EachSettingByItself) {
  EXPECT_EQ(wrong_where([](Facts& one) { one.cpus_allowed = 7; }), "CPUs");
  EXPECT_EQ(wrong_where([](Facts& one) { one.cpu_quota = 2.5; }), "CPU quota");
  EXPECT_EQ(wrong_where([](Facts& one) { one.cpu_quota = 8; }), "");
  EXPECT_EQ(wrong_where([](Facts& one) { one.memory_bytes /= 2; }), "memory");
  EXPECT_EQ(wrong_where([](Facts& one) { one.memory_available_bytes /= 20; }), "free memory");
  EXPECT_EQ(wrong_where([](Facts& one) { one.memory_limit_bytes = 1 << 30; }), "memory limit");
  EXPECT_EQ(wrong_where([](Facts& one) { one.pids_limit = 100; }), "threads");
  EXPECT_EQ(wrong_where([](Facts& one) { one.numa_nodes = 1; }), "NUMA");
  EXPECT_EQ(wrong_where([](Facts& one) { one.numa_balancing = "1"; }), "NUMA balancing");
  EXPECT_EQ(wrong_where([](Facts& one) { one.governor = "powersave"; }), "governor");
  EXPECT_EQ(wrong_where([](Facts& one) { one.governor = ""; }), "") << "a virtual machine";
  EXPECT_EQ(wrong_where([](Facts& one) { one.smt = "on"; }), "SMT");
  EXPECT_EQ(wrong_where([](Facts& one) { one.thp = "never"; }), "huge pages");
  EXPECT_EQ(wrong_where([](Facts& one) { one.rdma_device = "mlx5_0"; }), "memlock");
  EXPECT_EQ(wrong_where([](Facts& one) { one.open_files = 1024; }), "open files");
  EXPECT_EQ(wrong_where([](Facts& one) { one.shm_free_bytes = 64 << 20; }), "/dev/shm");
  EXPECT_EQ(wrong_where([](Facts& one) { one.send_buffer_bytes = 1 << 20; }), "socket buffers");
  EXPECT_EQ(wrong_where([](Facts& one) { one.shm_error = EROFS; }), "/dev/shm");
  EXPECT_EQ(wrong_where([](Facts& one) { one.tmp_free_bytes = 1 << 20; }), "/tmp");
  EXPECT_EQ(wrong_where([](Facts& one) { one.load = 8.5; }), "load");
  EXPECT_EQ(wrong_where([](Facts& one) { one.memory_errors = 1; }), "memory errors");
  EXPECT_EQ(wrong_where([](Facts& one) { one.mtu = 8000; }), "MTU");
  EXPECT_EQ(wrong_where([](Facts& one) { one.rate_mbit = 25'000; }), "NIC rate");
}

void lack_one(Facts& one) {
  one.gpus = 7;
  one.gpu_models = "7xNVIDIA_H200";
  one.nvlinks = 126;
}

TEST(HostRules, Gpus) {
  const auto wrong = [](void (*change)(Facts&)) {
    probe::Measurements measured = three_hosts();
    for (Facts& facts : measured.facts) {
      facts.gpus = 8;
      facts.gpu_models = "8xNVIDIA_H200";
      facts.nvlinks = 144;
    }
    change(measured.facts[1]);
    return wrong_with(measured);
  };
  EXPECT_EQ(wrong([](Facts&) {}), "");
  EXPECT_EQ(wrong(lack_one), "GPUs");
  EXPECT_EQ(wrong([](Facts& one) {
              one = good_facts();
              one.gpu_error = "no_answer";
            }),
            "GPUs");
  EXPECT_EQ(wrong([](Facts& one) {
              one.gpu_models = "8xNVIDIA_L40S";
              one.nvlinks = 0;
            }),
            "GPU models");
  EXPECT_EQ(wrong([](Facts& one) {
              lack_one(one);
              one.lost_gpus = "3";
            }),
            "GPUs");
  EXPECT_EQ(wrong([](Facts& one) {
              one.gpu_clock_limits = 0x40;
              one.limited_gpus = "3";
            }),
            "GPU clocks");
  EXPECT_EQ(wrong([](Facts& one) {
              one.gpu_memory_errors = 2;
              one.gpus_with_errors = "1,5";
            }),
            "GPU memory");
  EXPECT_EQ(wrong([](Facts& one) { one.narrow_gpus = "0:x8/x16"; }), "GPU lanes");
  EXPECT_EQ(wrong([](Facts& one) { one.nvlinks = 143; }), "NVLink");
}

TEST(HostRules, GpusOfTwoHostsAndOfOne) {
  probe::Measurements measured{.hosts = {"a", "b"}};
  measured.facts.assign(2, good_facts());
  measured.facts[0].gpus = 8;
  measured.facts[1].gpus = 7;
  EXPECT_EQ(wrong_with(measured), "GPUs");
  measured = {.hosts = {"b"}};
  measured.facts = {good_facts()};
  measured.facts[0].gpu_error = "18";
  EXPECT_EQ(wrong_with(measured), "GPUs");
}

TEST(HostRules, SlotsThatAreNarrowOnAllHostsAreUsual) {
  probe::Measurements measured = three_hosts();
  for (Facts& facts : measured.facts) {
    facts.gpus = 1;
    facts.narrow_gpus = "0:x8/x16";
  }
  EXPECT_EQ(wrong_with(measured), "");
}

TEST(HostRules, MemoryIsComparedWithThatOfMostHosts) {
  probe::Measurements measured = three_hosts();
  for (int host = 0; host < 3; ++host)
    measured.spins.push_back({.host = host, .copied_bytes_per_s = host == 1 ? 6e9 : 10e9});
  EXPECT_EQ(wrong_with(measured), "memory speed");
  measured.spins[1].copied_bytes_per_s = 8e9;
  EXPECT_EQ(wrong_with(measured), "");
}

TEST(HostRules, AHostThatIsCheckedAloneHasNoNetwork) {
  probe::Measurements measured{.hosts = {"b"}};
  measured.facts = {good_facts()};
  const std::size_t alone = find_on_hosts(measured).size();
  EXPECT_EQ(find_on_hosts(three_hosts()).size(), 3 * (alone + 3)) << "MTU, NIC rate, clock";
}

TEST(HostRules, ARateThatMeansNothingIsNotCompared) {
  EXPECT_EQ(wrong_where([](Facts& one) {
              one.driver = "";
              one.rate_mbit = 10'000;
            }),
            "");
}

TEST(HostRules, WithoutFactsNothingIsFound) {
  probe::Measurements measured = three_hosts();
  measured.facts.clear();
  EXPECT_TRUE(find_on_hosts(measured).empty());
}

TEST(HostRules, ClocksByChainsOfLatencies) {
  probe::Measurements measured = three_hosts();
  measured.latencies.push_back({.from = 0, .to = 2, .best_us = 10, .clock_offset_us = 100});
  measured.latencies.push_back({.from = 1, .to = 2, .best_us = 10, .clock_offset_us = -50'000});
  const std::vector<double> offsets = clock_offsets_us(measured);
  EXPECT_EQ(offsets, (std::vector<double>{0, 50'100, 100}));
  EXPECT_EQ(wrong_with(measured), "clock");
}

}  // namespace
}  // namespace paceline::launcher
