#include "launcher/tools/measure/bench/gradient/gradient_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

GradientRequest gradient_of(const Words& words) { return accepted(parse_gradient_bench(words)); }

std::string gradient_refusal(const Words& words) { return refusal_of(parse_gradient_bench(words)); }

TEST(GradientOptions, Defaults) {
  const GradientRequest request = gradient_of({});
  EXPECT_EQ(request.trace, "resnet50");
  EXPECT_EQ(request.scale, 1);
  EXPECT_FALSE(request.burns);
  EXPECT_EQ(request.compute_ratio, 1);
  EXPECT_FALSE(request.compute_ms);
  EXPECT_EQ(request.codec, "none");
  EXPECT_EQ(request.measure, "paceline");
  EXPECT_EQ(request.against, Words());
  EXPECT_EQ(request.pairs, 5);
  EXPECT_EQ(request.steps, 5);
  EXPECT_FALSE(request.ranks);
  EXPECT_TRUE(request.job.hosts.empty());
}

TEST(GradientOptions, EveryOne) {
  const GradientRequest request =
      gradient_of({"--trace", "bert", "--scale=0.5", "--compute", "burn", "--compute-ms", "12.5",
                   "--codec", "auto", "--against", "ddp,none,paceline:int8", "--pairs", "9",
                   "--steps", "3", "--json", "f=g", "-n", "4"});
  EXPECT_EQ(request.trace, "bert");
  EXPECT_EQ(request.scale, 0.5);
  EXPECT_TRUE(request.burns);
  EXPECT_EQ(request.compute_ms, 12.5);
  EXPECT_EQ(request.codec, "auto");
  EXPECT_EQ(request.against, (Words{"ddp", "none", "paceline:int8"}));
  EXPECT_EQ(request.pairs, 9);
  EXPECT_EQ(request.steps, 3);
  EXPECT_EQ(request.json_file, "f=g");
  EXPECT_EQ(request.ranks, 4);
  EXPECT_EQ(gradient_of({"--measure", "none", "--compute-ratio", "2", "-np=8"}).measure, "none");
}

TEST(GradientOptions, HostsAreForPacelineRun) {
  const GradientRequest request =
      gradient_of({"-H", "a:2,b:2", "--trace", "gpt2", "-N", "2", "-n", "4", "-x", "A=b"});
  EXPECT_EQ(request.ranks, 4);
  EXPECT_EQ(request.job.programs.front().environment,
            (std::vector<EnvironmentSetting>{{.name = "A", .value = "b"}}));
  EXPECT_EQ(request.job.ranks_per_host, 2);
  EXPECT_EQ(request.job.hosts.size(), 2u);
}

TEST(GradientOptions, EveryRefusalSaysWhy) {
  EXPECT_EQ(gradient_refusal({"resnet50"}), "'resnet50' is not an option; use --trace for a model");
  EXPECT_EQ(gradient_refusal({"--trase", "bert"}),
            "'--trase' is not an option of paceline bench gradient; did you mean '--trace'?");
  EXPECT_EQ(gradient_refusal({"--trace", "resnet5"}),
            "--trace: 'resnet5' is not one of resnet50, bert and gpt2; did you mean 'resnet50'?");
  EXPECT_EQ(gradient_refusal({"--scale", "0"}), "--scale: '0' is not a number above 0 and up to 1");
  EXPECT_EQ(gradient_refusal({"--scale", "1.5"}),
            "--scale: '1.5' is not a number above 0 and up to 1");
  EXPECT_EQ(gradient_refusal({"--compute", "think"}),
            "--compute: 'think' is not one of sleep and burn");
  EXPECT_EQ(gradient_refusal({"--compute-ms", "-1"}),
            "--compute-ms: '-1' is not a number above 0 and up to 3600000");
  EXPECT_EQ(gradient_refusal({"--compute-ratio", "nan"}),
            "--compute-ratio: 'nan' is not a number above 0 and up to 1000");
  EXPECT_EQ(gradient_refusal({"--compute-ms", "1", "--compute-ratio", "1"}),
            "--compute-ms and --compute-ratio both set the compute time; use one of them");
  EXPECT_EQ(gradient_refusal({"--codec", "zip"}),
            "--codec: 'zip' is not one of none, bf16, fp16, int8, topk, powersgd and auto");
  EXPECT_EQ(gradient_refusal({"--codec", "bf16", "--measure", "none"}),
            "--codec applies to the pipeline only, but --measure is 'none'");
  EXPECT_EQ(gradient_refusal({"--against", "dpp"}),
            "--against: 'dpp' is not one of paceline, none and ddp; did you mean 'ddp'?");
  EXPECT_EQ(gradient_refusal({"--against", "paceline:zip"}),
            "--against: 'zip' is not one of none, bf16, fp16, int8, topk, powersgd and auto");
  EXPECT_EQ(gradient_refusal({"--against", "ddp,ddp"}), "--against: 'ddp' occurs twice");
  EXPECT_EQ(gradient_refusal({"--against", ","}), "--against: ',' names no contender");
  EXPECT_EQ(gradient_refusal({"--measure", "none", "--against", "none"}),
            "--against: 'none' is compared with itself");
  EXPECT_EQ(gradient_refusal({"--pairs", "0"}),
            "--pairs: '0' is not a whole number from 1 to 10000");
  EXPECT_EQ(gradient_refusal({"-n", "1"}),
            "-n: one rank has no communication; use 2 ranks or more");
}

TEST(GradientOptions, HelpNamesEveryContenderAndOption) {
  const std::string help = gradient_bench_help();
  for (const std::string& name : gradient_contender_names())
    EXPECT_NE(help.find(name), help.npos) << name;
  for (const char* option : {"--trace", "--scale", "--compute-ratio", "--measure", "--hostfile"})
    EXPECT_NE(help.find(option), help.npos) << option;
}

}  // namespace
}  // namespace paceline::launcher
