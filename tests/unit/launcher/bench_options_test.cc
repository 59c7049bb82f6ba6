#include "launcher/tools/measure/bench/bench_options.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

BenchRequest bench_of(const Words& words) { return accepted(parse_bench(words)); }

std::string bench_refusal(const Words& words) { return refusal_of(parse_bench(words)); }

TEST(BenchOptions, Defaults) {
  EXPECT_EQ(bench_of({"all_reduce"}), BenchRequest());
  BenchRequest against;
  against.against = {"raw"};
  against.orders.time_ms = 10;
  EXPECT_EQ(bench_of({"all_reduce", "--against", "raw"}), against);
}

TEST(BenchOptions, EveryOne) {
  BenchRequest expected;
  expected.ranks = 4;
  expected.backend = "tcp";
  expected.json_file = "f=g";
  expected.against = {"mpich", "openmpi"};
  expected.pairs = 5;
  expected.limits_time = true;
  expected.orders.type = DataType::kInt64;
  expected.orders.op = ReduceOp::kMax;
  expected.orders.in_place = false;
  expected.orders.cold = true;
  expected.orders.check = true;
  expected.orders.low_bytes = 1024;
  expected.orders.high_bytes = 4 << 20;
  expected.orders.factor = 8;
  expected.orders.time_ms = 9;
  EXPECT_EQ(bench_of({"-n",         "4",         "--backend=tcp",
                      "--json=f=g", "--against", "mpich,openmpi",
                      "all_reduce", "--pairs",   "5",
                      "--type",     "int64",     "--op",
                      "max",        "--inplace", "no",
                      "--cache",    "cold",      "--check",
                      "--bytes",    "1K:4M:8",   "--time",
                      "9"}),
            expected);
}

TEST(BenchOptions, ReduceScatterAgainstMpiIsNotInPlaceByDefault) {
  EXPECT_FALSE(bench_of({"reduce_scatter", "--against", "gloo,openmpi-1m"}).orders.in_place);
  EXPECT_TRUE(bench_of({"reduce_scatter", "--against", "gloo"}).orders.in_place);
  EXPECT_TRUE(bench_of({"reduce", "--against", "openmpi"}).orders.in_place);
}

TEST(BenchOptions, EveryWayToSayHowMany) {
  for (const Words& words :
       {Words{"-n", "4"}, {"-n4"}, {"-n=4"}, {"-np", "4"}, {"-np4"}, {"--np=4"}, {"--np", "4"}}) {
    Words all{"barrier"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(bench_of(all).ranks, 4) << words.front();
  }
}

TEST(BenchOptions, Sizes) {
  EXPECT_EQ(*parse_size("4"), 4u);
  EXPECT_EQ(*parse_size("64K"), 65536u);
  EXPECT_EQ(*parse_size("1G"), std::size_t{1} << 30);
  for (const char* text : {"", "K", "0", "-4", "4k", "4KB", "1.5M", "99999999G", "4 "})
    EXPECT_FALSE(parse_size(text).ok()) << text;
  const BenchRequest one = bench_of({"broadcast", "--bytes", "12"});
  EXPECT_EQ(one.orders.low_bytes, one.orders.high_bytes);
}

TEST(BenchOptions, RefusesWhatMakesNoSense) {
  EXPECT_NE(bench_refusal({}).find("'bench' needs an operation: all_reduce, reduce_scatter"),
            std::string::npos);
  EXPECT_NE(bench_refusal({"al_reduce"}).find("did you mean 'all_reduce'?"), std::string::npos);
  EXPECT_NE(bench_refusal({"barrier", "broadcast"}).find("a second operation"), std::string::npos);
  EXPECT_EQ(bench_refusal({"all_reduce", "--bites", "4"}),
            "'--bites' is not an option of paceline bench; did you mean '--bytes'?");
  EXPECT_EQ(bench_refusal({"all_reduce", "--bytes", "--check"}),
            "option --bytes needs a value: LOW:HIGH[:F]");
  EXPECT_EQ(bench_refusal({"all_reduce", "--check=1"}), "option --check takes no value");
  EXPECT_EQ(bench_refusal({"all_reduce", "--bytes", "8:4"}),
            "--bytes: '8:4' ends below its beginning; write 4:8");
  EXPECT_NE(bench_refusal({"all_reduce", "--bytes", "1:2:3:4"}).find("LOW:HIGH"),
            std::string::npos);
  EXPECT_NE(bench_refusal({"all_reduce", "--bytes", "4:8:1"}).find("the factor '1'"),
            std::string::npos);
  EXPECT_NE(
      bench_refusal({"all_reduce", "--bytes", "4", "--type", "int64"}).find("no size from 4 to 4"),
      std::string::npos);
  EXPECT_NE(bench_refusal({"all_reduce", "-n", "0"}).find("-n: '0'"), std::string::npos);
  EXPECT_NE(bench_refusal({"all_reduce", "--op", "summ"}).find("did you mean 'sum'?"),
            std::string::npos);
  EXPECT_NE(bench_refusal({"all_reduce", "--against", "raw,raw"}).find("twice"), std::string::npos);
  EXPECT_NE(bench_refusal({"all_reduce", "--against", "mpi"})
                .find("'mpi' is not openmpi, openmpi-1m, mpich"),
            std::string::npos);
}

TEST(BenchOptions, GpuMemory) {
  const BenchRequest request = bench_of({"all_reduce", "--memory", "device"});
  EXPECT_TRUE(request.orders.on_gpu);
  EXPECT_FALSE(request.orders.limits);
  EXPECT_TRUE(bench_of({"all_reduce", "--memory=host"}).orders.limits);
  const auto refusal = [](Words words) {
    words.insert(words.end(), {"all_reduce", "--memory", "device"});
    return bench_refusal(words);
  };
  for (const Words& words : {Words{"--buffers", "registered"},
                             {"--cache", "cold"},
                             {"--backend", "tcp"},
                             {"--check", "--op", "avg"},
                             {"--against", "mpich"},
                             {"--against", "PACELINE_NCCL=0,raw"}})
    EXPECT_EQ(refusal(words).find("--memory device: "), 0u) << words.front();
  EXPECT_NE(bench_refusal({"barrier", "--memory", "device"}).find("no effect"), std::string::npos);
}

TEST(BenchOptions, AgainstItsParts) {
  const std::string parts = "reduce_scatter+all_gather";
  EXPECT_EQ(bench_of({"all_reduce", "--against", parts}).against, Words{parts});
  EXPECT_EQ(bench_refusal({"broadcast", "--against", parts}),
            "--against reduce_scatter+all_gather: these are parts of all_reduce, not of broadcast");
  EXPECT_NE(bench_refusal({"all_reduce", "--against", "reduce+gather"}).find("reduce+broadcast"),
            std::string::npos);
}

TEST(BenchOptions, AgainstThisBuildWithAnotherSetting) {
  const std::string setting = "PACELINE_SHM_METHOD=zero_copy";
  EXPECT_EQ(bench_of({"all_reduce", "--against", setting + ",raw"}).against,
            (std::vector<std::string>{setting, "raw"}));
  EXPECT_EQ(bench_refusal({"all_reduce", "--against", "PACELINE_SHM_METHODS=eager"}),
            "--against: 'PACELINE_SHM_METHODS' is not a variable that ranks read; did you mean "
            "'PACELINE_SHM_METHOD'?");
  EXPECT_EQ(bench_refusal({"all_reduce", "--against", "PACELINE_SHM_METHOD=direct"}),
            "--against: PACELINE_SHM_METHOD=direct is not allowed; use auto, eager, gathered, "
            "pipelined or zero_copy");
}

TEST(BenchOptions, WhatAnOperationDoesNotHave) {
  EXPECT_EQ(bench_refusal({"barrier", "--bytes", "4"}), "--bytes has no effect on barrier");
  EXPECT_EQ(bench_refusal({"barrier", "--check"}), "--check has no effect on barrier");
  EXPECT_EQ(bench_refusal({"broadcast", "--op", "sum"}), "--op has no effect on broadcast");
  EXPECT_EQ(bench_refusal({"reduce_scatter", "--against", "gloo,mpich", "--inplace", "yes"}),
            "--inplace yes: MPI leaves the result elsewhere; use --inplace no");
  EXPECT_EQ(bench_refusal({"--inplace", "no", "broadcast"}),
            "--inplace has no effect on broadcast");
  EXPECT_EQ(bench_refusal({"all_reduce", "--root", "0"}), "--root has no effect on all_reduce");
  EXPECT_EQ(bench_refusal({"all_to_all", "--inplace", "yes"}),
            "--inplace has no effect on all_to_all");
  EXPECT_EQ(bench_refusal({"broadcast", "--root", "2"}),
            "--root: there is no rank 2; the number of ranks is 2");
  EXPECT_NE(bench_refusal({"barrier", "--pairs", "3"}).find("--pairs needs --against"),
            std::string::npos);
}

TEST(BenchOptions, HelpIsOneScreen) {
  std::istringstream help(bench_help());
  int lines = 0;
  for (std::string line; std::getline(help, line); ++lines) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LE(lines, 50);
  for (const char* part : {"Ranks:", "Messages:", "Peers:", "Examples:", "Exit code", "--against"})
    EXPECT_NE(bench_help().find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace paceline::launcher
