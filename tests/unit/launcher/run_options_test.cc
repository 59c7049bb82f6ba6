#include "launcher/options/run_options.h"

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"
#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

std::string run_refusal(const Words& words) { return refusal_of(parse_run(words)); }
std::string help_page(const char* option) { return run_help(Words{option}).value_or(""); }

TEST(RunOptions, Defaults) {
  const JobSpec job = job_of({"prog"});
  ASSERT_EQ(job.programs.size(), 1u);
  EXPECT_EQ(job.programs[0].command, Words{"prog"});
  JobSpec expected;
  expected.programs.emplace_back().command = {"prog"};
  EXPECT_EQ(job, expected);
  EXPECT_FALSE(job.tags());
  EXPECT_FALSE(job.splits_lines());
}

TEST(RunOptions, EveryWayToSayHowMany) {
  for (const Words& words : {Words{"-n", "4"},
                             {"-n4"},
                             {"-n=4"},
                             {"-np", "4"},
                             {"-np4"},
                             {"-np=4"},
                             {"--np", "4"},
                             {"--np=4"}}) {
    Words all = words;
    all.push_back("prog");
    EXPECT_EQ(job_of(all).ranks(), 4) << words.front();
  }
}

TEST(RunOptions, OptionsEndAtTheProgram) {
  const auto command = [](const Words& words) { return job_of(words).programs.at(0).command; };
  EXPECT_EQ(command({"-n", "2", "prog", "-n", "3", "--grace"}),
            (Words{"prog", "-n", "3", "--grace"}));
  EXPECT_EQ(command({"-n", "2", "--", "-prog", "--", "x"}), (Words{"-prog", "--", "x"}));
  EXPECT_EQ(command({"--tag-output", "prog", "--help"}), (Words{"prog", "--help"}));
}

TEST(RunOptions, Values) {
  const JobSpec job =
      job_of({"-x", "A=b=c", "-x", "HOME", "-xE=", "--timeout", "0.25", "-grace=0", "--max-silence",
              "60", "--wdir", "/tmp", "--no-tag-output", "-n", "2", "prog"});
  EXPECT_EQ(job.programs.at(0).environment,
            (std::vector<EnvironmentSetting>{{"A", "b=c"}, {"HOME", std::nullopt}, {"E", ""}}));
  EXPECT_EQ(job.timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(job.grace, std::chrono::nanoseconds(0));
  EXPECT_EQ(job.max_silence, std::chrono::seconds(60));
  EXPECT_EQ(job.programs.at(0).working_directory, "/tmp");
  EXPECT_FALSE(job.tags());
  EXPECT_TRUE(job.splits_lines());
}

TEST(RunOptions, TheControlServiceHasANumericAddress) {
  EXPECT_EQ(job_of({"prog"}).control, "");
  for (const char* address : {"10.0.0.1:7000", "127.0.0.1:0", "[::]:7000"})
    EXPECT_EQ(job_of({"--control", address, "prog"}).control, address);
  for (const char* text : {"7000", ":7000", "10.0.0.1", "node1:7000", "unix:/tmp/x", ""})
    EXPECT_NE(run_refusal({"--control", text, "prog"}).find("--control"), std::string::npos)
        << text;
}

TEST(RunOptions, PartsToLeaveOutAreAddedUp) {
  EXPECT_FALSE(job_of(words_of("a")).ablation.is_any());
  EXPECT_EQ(job_of(words_of("--ablate comm a")).ablation, (Ablation{.communication = true}));
  const Ablation both{.communication = true, .input = true};
  EXPECT_EQ(job_of(words_of("--ablate=input,comm a")).ablation, both);
  EXPECT_EQ(job_of(words_of("--ablate comm --ablate input -- a")).ablation, both);
  EXPECT_EQ(run_refusal(words_of("--ablate compute a")),
            "--ablate: 'compute' is not allowed; use comm, input or comm,input");
}

TEST(RunOptions, PythonHasHooksUnlessTheyAreLeftOut) {
  EXPECT_TRUE(job_of(words_of("a")).python_hooks);
  EXPECT_FALSE(job_of(words_of("--no-python-hooks a")).python_hooks);
}

TEST(RunOptions, TimesHaveUnits) {
  const auto timeout = [](const char* text) { return job_of({"--timeout", text, "prog"}).timeout; };
  EXPECT_EQ(timeout("90"), std::chrono::seconds(90));
  EXPECT_EQ(timeout("90s"), std::chrono::seconds(90));
  EXPECT_EQ(timeout("1m"), std::chrono::minutes(1));
  EXPECT_EQ(timeout("1.5h"), std::chrono::minutes(90));
  EXPECT_EQ(timeout("2d"), std::chrono::hours(48));
  EXPECT_EQ(timeout("250ms"), std::chrono::milliseconds(250));
  for (const char* text : {"m", "1 m", "1min", "1M", "-1m", "1h30m", "400d", ""})
    EXPECT_NE(run_refusal({"--timeout", text, "prog"}), "") << text;
  EXPECT_EQ(run_refusal({"--timeout", "1min", "prog"}),
            "--timeout: '1min' is not a time from 0 to a year; write seconds, or 500ms, 90s, 15m, "
            "2h, 1d");
  EXPECT_EQ(job_of({"--start-timeout", "2m", "prog"}).start_timeout, std::chrono::minutes(2));
}

TEST(RunOptions, AutoIsNoStatedNumber) {
  const JobSpec job = job_of({"-n", "auto", "prog"});
  EXPECT_TRUE(job.programs.at(0).is_auto);
  EXPECT_FALSE(job.states_ranks());
  EXPECT_EQ(job_of({"-n", "auto", "-n", "2", "prog"}).ranks(), 2);
}

TEST(RunOptions, TimestampsBringTags) {
  EXPECT_TRUE(job_of({"-n", "1", "--timestamp-output", "prog"}).tags());
  EXPECT_FALSE(job_of({"-n", "1", "--timestamp-output", "--no-tag-output", "prog"}).tags());
}

TEST(RunOptions, AProgramMayHaveItsOwnHosts) {
  const JobSpec job = job_of({"-H", "a", "./s", ":", "-H", "b:4,c", "./w", ":", "./x"});
  EXPECT_EQ(job.hosts, (std::vector<HostSlots>{{"a", std::nullopt}}));
  EXPECT_EQ(job.programs.at(0).hosts, std::vector<HostSlots>{});
  EXPECT_EQ(job.programs.at(1).hosts, (std::vector<HostSlots>{{"b", 4}, {"c", std::nullopt}}));
  EXPECT_EQ(job.programs.at(2).hosts, std::vector<HostSlots>{});
  EXPECT_TRUE(job.has_own_hosts());
  EXPECT_NE(run_refusal({"-H", "a", "s", ":", "-H", "^b", "w"}).find("before the first ':'"),
            std::string::npos);
}

TEST(RunOptions, HostsAreExcluded) {
  const JobSpec job = job_of({"-H", "a:2,^b,c,^n[1-2]", "prog"});
  EXPECT_EQ(job.hosts, (std::vector<HostSlots>{{"a", 2}, {"c", std::nullopt}}));
  EXPECT_EQ(job.excluded_hosts, (Words{"b", "n1", "n2"}));
  EXPECT_EQ(job_of({"-H", "^b", "--hostfile", "f", "prog"}).host_file, "f");
  for (const char* hosts : {",a", "a,", ",", "^", "^b,", "a,,b"})
    EXPECT_NE(run_refusal({"-H", hosts, "prog"}), "") << hosts;
  EXPECT_NE(run_refusal({"-H", "a,^b:2", "prog"}).find("excludes a host; leave out slots"),
            std::string::npos);
}

TEST(RunOptions, ValuesAreTakenAsTheyAre) {
  const ProgramSpec program =
      job_of({"--wdir", "[a,b]", "-x", "[A]=[b,c]", "-x", "B={\"d\": 1}", "prog"}).programs.at(0);
  EXPECT_EQ(program.working_directory, "[a,b]");
  EXPECT_EQ(program.environment,
            (std::vector<EnvironmentSetting>{{"[A]", "[b,c]"}, {"B", "{\"d\": 1}"}}));
}

TEST(RunOptions, Output) {
  const JobSpec job =
      job_of({"-n", "8", "--output-dir", "logs/%j", "--console-ranks", "0,4-7", "prog"});
  EXPECT_EQ(job.output_directory, "logs/%j");
  EXPECT_TRUE(job.console_ranks.contains(5));
  EXPECT_FALSE(job.console_ranks.contains(1));
  EXPECT_FALSE(job_of({"--console-ranks=none", "prog"}).console_ranks.contains(0));
  EXPECT_EQ(job_of({"--trace", "job.json", "prog"}).trace_file, "job.json");
  EXPECT_EQ(job_of({"--evidence", "job.bin", "prog"}).evidence_file, "job.bin");
}

TEST(RunOptions, PeakFlops) {
  EXPECT_EQ(job_of({"--peak-flops", "312e12", "prog"}).peak_flop_per_s, 312e12);
  EXPECT_EQ(job_of({"prog"}).peak_flop_per_s, 0);
  for (const char* const flops : {"0", "-1", "x", "1e12T", "inf", "nan", ""})
    EXPECT_NE(run_refusal({"--peak-flops", flops, "prog"}), "") << flops;
}

TEST(RunOptions, StandardInput) {
  EXPECT_EQ(job_of({"prog"}).stdin_rank, 0);
  EXPECT_EQ(job_of({"-n", "3", "--stdin", "2", "prog"}).stdin_rank, 2);
  EXPECT_EQ(job_of({"--stdin=none", "prog"}).stdin_rank, std::nullopt);
  for (const char* rank : {"-1", "x", "all", "1,2"})
    EXPECT_NE(run_refusal({"--stdin", rank, "prog"}).find("is neither a rank nor 'none'"),
              std::string::npos);
}

TEST(RunOptions, RanksThatAreNotThere) {
  EXPECT_EQ(run_refusal({"-n", "2", "--stdin", "9", "prog"}),
            "--stdin: there is no rank 9; the job has ranks 0 to 1");
  EXPECT_EQ(run_refusal({"-n", "1", "--console-ranks", "0-1", "prog"}),
            "--console-ranks: there is no rank 1; the job has only rank 0");
  EXPECT_EQ(job_of({"-n", "1", "a", ":", "-n", "2", "b"}).ranks(), 3);
  EXPECT_EQ(run_refusal({"--stdin", "3", "-n", "1", "a", ":", "-n", "2", "b"}),
            "--stdin: there is no rank 3; the job has ranks 0 to 2");
}

TEST(RunOptions, Programs) {
  const JobSpec job = job_of({"-n", "2", "--timeout", "9", "./a", "x", ":", "-n", "1", "-x", "V=1",
                              "--wdir", "/d", "--", "./b", ":", "c"});
  ASSERT_EQ(job.programs.size(), 3u);
  ProgramSpec first, second, third;
  first.ranks = 2;
  first.command = {"./a", "x"};
  second.ranks = 1;
  second.command = {"./b"};
  second.environment = {{"V", "1"}};
  second.working_directory = "/d";
  third.command = {"c"};
  EXPECT_EQ(job.programs, (std::vector<ProgramSpec>{first, second, third}));
  EXPECT_EQ(job.timeout, std::chrono::seconds(9));
  EXPECT_EQ(job_of({"a", "x:y", "::", ":x"}).programs.size(), 1u) << "only the word ':' counts";
}

TEST(RunOptions, ProgramsThatAreMissing) {
  for (const Words& words : {Words{":"},
                             {":", "a"},
                             {"a", ":"},
                             {"a", ":", ":", "b"},
                             {"a", ":", "-n", "2"},
                             {"-n", "2", ":", "b"},
                             {"a", ":", "--", ""}})
    EXPECT_NE(run_refusal(words).find("is missing; write a program on both sides of each ':'"),
              std::string::npos);
  EXPECT_NE(run_refusal({"a", ":", "-n", "2"}).find("program 2 "), std::string::npos);
}

TEST(RunOptions, WhatIsTheWholeJobs) {
  EXPECT_EQ(run_refusal({"a", ":", "-timeout=3", "b"}),
            "option -timeout applies to the whole job, not to one program; write it before the "
            "first ':'");
  for (const char* option : {"--tag-output", "--hostfile", "--help", "--output-dir"})
    EXPECT_NE(run_refusal({"a", ":", option, "b"}).find("applies to the whole job"),
              std::string::npos);
  EXPECT_EQ(run_refusal({"-n", "40000", "a", ":", "-n", "40000", "b"}),
            "the programs have more than 65536 ranks in total");
}

TEST(RunOptions, Hosts) {
  EXPECT_EQ(job_of({"-H", "a:4,b", "prog"}).hosts,
            (std::vector<HostSlots>{{"a", 4}, {"b", std::nullopt}}));
  EXPECT_EQ(job_of({"-host", "a", "prog"}).hosts, (std::vector<HostSlots>{{"a", std::nullopt}}));
  EXPECT_EQ(job_of({"--hostfile", "f", "prog"}).host_file, "f");
  EXPECT_EQ(job_of({"-N", "2", "prog"}).ranks_per_host, 2);
  EXPECT_EQ(job_of({"--engine", "ssh", "--agent-path", "/p", "prog"}).agent_path, "/p");
  EXPECT_NE(run_refusal({"--engine", "ssh", "--launch-agent", "a", "prog"}).find("use one of them"),
            std::string::npos);
  EXPECT_NE(run_refusal({"-H", "a:x", "prog"}).find("-H: slots 'x' is not"), std::string::npos);
  EXPECT_NE(run_refusal({"-H", "a", "--hostfile", "f", "prog"}).find("use one of them"),
            std::string::npos);
}

TEST(RunOptions, TheLastOfTwoCounts) {
  EXPECT_EQ(job_of({"-n", "2", "-np", "3", "prog"}).ranks(), 3);
}

TEST(RunOptions, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run_refusal({"-n", "0", "prog"}), "-n: '0' is not a whole number from 1 to 65536");
  for (const char* number : {"-1", "4x", "65537", "99999999999999", "1.5"})
    EXPECT_NE(run_refusal({"-n", number, "prog"}).find(number), std::string::npos) << number;
  for (const char* seconds : {"-1", "x", "1e300", "nan", "inf"}) {
    EXPECT_NE(run_refusal({"--timeout", seconds, "prog"}).find("--timeout"), std::string::npos);
    EXPECT_NE(run_refusal({"--max-silence", seconds, "prog"}).find("--max-silence"),
              std::string::npos);
  }
  EXPECT_NE(run_refusal({"--max-silence", "1", "prog"}).find("use 2 s or more"), std::string::npos);
  EXPECT_NE(run_refusal({"-x", "=3", "prog"}).find("names no variable"), std::string::npos);
}

TEST(RunOptions, SaysWhatIsMissing) {
  EXPECT_NE(run_refusal({}).find("no program"), std::string::npos);
  EXPECT_NE(run_refusal({"-n", "2", "--"}).find("no program"), std::string::npos);
  EXPECT_NE(run_refusal({""}).find("no program"), std::string::npos);
  EXPECT_EQ(run_refusal({"-n"}), "option -n needs a value");
  EXPECT_EQ(run_refusal({"--timeout=", "prog"}), "option --timeout= needs a value");
  EXPECT_EQ(run_refusal({"--grace", "--", "prog"}), "option --grace needs a value");
  EXPECT_EQ(run_refusal({"--output-dir", "--tag-output", "prog"}),
            "option --output-dir needs a value");
  EXPECT_EQ(run_refusal({"-x", ":", "prog"}), "option -x needs a value");
  EXPECT_EQ(run_refusal({"--tag-output=1", "prog"}), "option --tag-output takes no value");
}

TEST(RunOptions, NamesTheNearestOption) {
  EXPECT_EQ(run_refusal({"--tagoutput", "prog"}),
            "'--tagoutput' is not an option of paceline run; did you mean '--tag-output'?");
  EXPECT_EQ(run_refusal({"--timeuot=3", "prog"}),
            "'--timeuot=3' is not an option of paceline run; did you mean '--timeout'?");
  EXPECT_EQ(run_refusal({"-hostfle", "f", "prog"}),
            "'-hostfle' is not an option of paceline run; did you mean '--hostfile'?");
  EXPECT_EQ(run_refusal({"-nodse", "4", "prog"}), "'-nodse' is not an option of paceline run");
  EXPECT_EQ(run_refusal({"--elephant", "prog"}), "'--elephant' is not an option of paceline run");
}

TEST(RunOptions, OptionsOfPeersAreAnsweredWithOwnOnes) {
  const auto told = [](const char* option) {
    const std::string word = option, said = run_refusal({word, "prog"});
    const std::string begin = "'" + word + "' is not an option of paceline run; ";
    EXPECT_EQ(said.find(begin), 0u) << said;
    return said.size() < begin.size() ? said : said.substr(begin.size());
  };
  EXPECT_EQ(told("--nproc_per_node=4").find("use -N K"), 0u);
  EXPECT_EQ(told("--nproc-per-node"), told("--nproc_per_node=4"));
  EXPECT_EQ(told("-npernode"), told("--npernode"));
  EXPECT_EQ(told("--output-filename"), "use --output-dir DIR");
  EXPECT_EQ(told("-machinefile"), "use --hostfile FILE");
  EXPECT_EQ(told("-f"), "use --hostfile FILE");
  EXPECT_NE(told("--rdzv-endpoint=h:1").find("MASTER_ADDR"), std::string::npos);
  EXPECT_NE(told("--oversubscribe").find("slot:oversubscribe"), std::string::npos);
  for (const char* option :
       {"--nnodes", "--node_rank", "--rdzv_backend", "--allow-run-as-root", "--mca", "--rankfile",
        "-l", "--label", "--log-dir", "--monitor-interval", "--app", "--standalone"})
    EXPECT_FALSE(told(option).empty()) << option;
}

TEST(RunOptions, RestartsAreCountedInAWindowAndWait) {
  const JobSpec job = *parse_run(
      Words{"--max-restarts", "3", "--restart-window", "10m", "--restart-delay", "0.5", "prog"});
  EXPECT_EQ(job.restarts, (RestartRules{.max_restarts = 3,
                                        .window = std::chrono::minutes(10),
                                        .delay = std::chrono::milliseconds(500)}));
  EXPECT_EQ(run_refusal({"--restart-window", "5", "prog"}),
            "--restart-window, --restart-delay and --cool-down need --max-restarts");
}

TEST(RunOptions, Help) {
  EXPECT_TRUE(run_help(Words{"--help"}));
  EXPECT_TRUE(run_help(Words{"-n", "2", "-h"}));
  EXPECT_FALSE(run_help(Words{"prog", "--help"}));
  EXPECT_FALSE(run_help(Words{"--hepl"}));
  EXPECT_TRUE(run_help(Words{"--help", "--elephant"}));
  EXPECT_FALSE(run_help(Words{"-x", "--help", "prog"})) << "then -x wants its value";
  for (const char* part :
       {"-n,--np", "--grace", "Ranks", "Programs", "Hosts", "Output", "End", "Examples", "124"})
    EXPECT_TRUE(says(help_page("--help"), part)) << part;
}

TEST(RunOptions, HelpIsOneScreen) {
  for (const char* page : {"--help", "--help-hosts", "--help-restarts", "--help-telemetry"}) {
    std::istringstream help(help_page(page));
    int lines = 0;
    for (std::string line; std::getline(help, line); ++lines) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_LE(lines, 44) << page;
  }
}

TEST(RunOptions, SomeOptionsHaveAPageOfTheirOwn) {
  const auto only_on = [](const char* page, std::vector<const char*> options) {
    EXPECT_TRUE(says(help_page("--help"), page));
    for (const char* option : options) {
      EXPECT_TRUE(says(help_page(page), option)) << option;
      EXPECT_FALSE(says(help_page("--help"), option)) << option;
    }
  };
  only_on("--help-hosts", {"--ssh-args", "--agent-path", "--start-timeout", "--control"});
  only_on("--help-telemetry",
          {"--metrics", "--dashboard", "--trace", "--peak-flops", "--ablate", "--no-python-hooks"});
  only_on("--help-restarts", {"--restart-delay", "--cool-down", "--membership", "--faults"});
}

TEST(RunOptions, OptionsOfACommandThatKnowsItsProgram) {
  const Words options{"-H", "a:2,b", "-N2", "-x", "A=b", "--map-by", "core"};
  JobSpec job = job_of(words_of("-H a:2,b -N2 -x A=b --map-by core -- probe"));
  job.programs.front().command.clear();
  EXPECT_EQ(accepted(parse_job_options(options)), job);
  EXPECT_EQ(accepted(parse_job_options({})).programs.size(), 1u);
  EXPECT_EQ(refusal_of(parse_job_options(Words{"-N", "0"})),
            refusal_of(parse_run(words_of("-N 0 -- probe"))));
}

TEST(RunOptions, OutputDirectory) {
  EXPECT_EQ(expand_output_directory("", "7", "/home"), "");
  EXPECT_EQ(expand_output_directory("/a/%j/%j", "7", "/home"), "/a/7/7");
  EXPECT_EQ(expand_output_directory("logs%k/%", "7", "/home"), "/home/logs%k/%");
  EXPECT_EQ(expand_output_directory("%j", "%j", "/home"), "/home/%j") << "replaced once";
}

}  // namespace
}  // namespace paceline::launcher
