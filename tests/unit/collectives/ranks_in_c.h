// Ranks of the C interface as threads that meet by an id.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/paceline.h>
#include <paceline/pipeline.h>

namespace paceline::testing {

inline plConfig_t config() {
  plConfig_t config = PL_CONFIG_INITIALIZER;
  config.timeoutMs = 30'000;
  return config;
}

inline plPipelineConfig_t pipeline_config() {
  const plPipelineConfig_t with = PL_PIPELINE_CONFIG_INITIALIZER;
  return with;
}

// Runs `body` as each of `ranks` ranks, in threads.
inline void run_ranks_in_c(int ranks, const std::function<void(plComm_t comm, int rank)>& body,
                           const plConfig_t& with = config()) {
  plUniqueId id;
  ASSERT_EQ(plGetUniqueId(&id), plSuccess) << plGetLastError(nullptr);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      plComm_t comm = nullptr;
      ASSERT_EQ(plCommInitRankConfig(&comm, ranks, id, rank, &with), plSuccess)
          << plGetLastError(nullptr);
      body(comm, rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace paceline::testing
