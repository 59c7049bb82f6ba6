#include "launcher/options/run_option_rows.h"

#include <array>
#include <string>
#include <utility>

#include "launcher/options/hostfile.h"
#include "launcher/options/option_values.h"
#include "launcher/options/placement_options.h"

namespace paceline::launcher {
namespace {

constexpr const char* kPrograms =
    "Programs (each has its own -n, -H, -x, --wdir; ':' separates them)";

// What CLI11 reports as "option: why".
template <class T>
T valid(const char* option, Result<T> value) {
  if (!value.ok()) throw CLI::ValidationError(option, value.status().text());
  return *std::move(value);
}

// One row of the help, and what becomes of the value.
template <class Use>
void add_value(CLI::App& app, const char* names, std::array<const char*, 3> form_meaning_group,
               Use use) {
  const auto& [form, meaning, group] = form_meaning_group;
  app.add_option_function<std::string>(names, use, meaning)
      ->type_name(form)
      ->group(group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_program_options(CLI::App& app, ProgramSpec& program) {
  add_value(
      app, "-n,--np",
      {"N|auto", "Number of ranks (default: the slots of the hosts, or 1); also -np", "Ranks"},
      [&program](const std::string& text) {
        program.is_auto = text == "auto";
        program.ranks = program.is_auto ? 0 : valid("-n", parse_count(text));
      });
  app.add_option_function<std::vector<std::string>>(
         "-x,--env",
         [&program](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             program.environment.push_back(valid("-x", parse_setting(text)));
         },
         "Set a variable, or pass on its present value (also 'NCCL_*', ALL)")
      ->type_name("VAR[=VALUE]")
      ->expected(1)
      ->allow_extra_args(false)  // else CLI11 cuts values in brackets at their commas
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(kPrograms);
  add_value(app, "--wdir", {"DIR", "Working directory", kPrograms},
            [&program](const std::string& text) { program.working_directory = text; });
}

// -H before the first ':' is for all programs that have none of their own.
void use_hosts(const std::string& text, JobSpec& job, ProgramSpec& program) {
  HostOption option = valid("-H", parse_host_option(text));
  const bool is_first = job.programs.empty();
  if (!is_first && !option.excluded.empty())
    throw CLI::ValidationError("-H",
                               "^ excludes hosts of the whole job; write it before the first ':'");
  (is_first ? job.hosts : program.hosts) = std::move(option.hosts);
  if (is_first) job.excluded_hosts = std::move(option.excluded);
}

void add_host_options(CLI::App& app, JobSpec& job, ProgramSpec& program) {
  add_value(app, "-H,--host", {"A:4,B:4", "Hosts and their slots; ^A: all but host A", "Hosts"},
            [&](const std::string& text) { use_hosts(text, job, program); });
  add_value(app, "--hostfile", {"FILE", "File with one host per line: name slots=4", "Hosts"},
            [&job](const std::string& text) { job.host_file = text; });
  add_value(
      app, "-N,--ppn", {"K", "Max number of ranks on each host", "Hosts"},
      [&job](const std::string& text) { job.ranks_per_host = valid("-N", parse_count(text)); });
  add_value(app, "--engine",
            {"NAME", "How agents start: ssh, slurm (default in Slurm), mpirun, lab[:NAME], local",
             "Hosts"},
            [&job](const std::string& text) { job.engine = text; });
}

void add_other_host_options(CLI::App& app, JobSpec& job) {
  add_value(app, "--start-timeout",
            {"S", "Seconds to wait for hosts whose sshd is not up yet (default 10)", kOtherHosts},
            [&job](const std::string& text) {
              job.start_timeout = valid("--start-timeout", parse_seconds(text));
            });
  add_value(app, "--launch-agent",
            {"CMD", "Command that starts agents instead: 'kubectl exec -i {host} --'", kOtherHosts},
            [&job](const std::string& text) { job.launch_agent = text; });
  add_value(app, "--ssh-args",
            {"ARGS", "Additional arguments of ssh; also PACELINE_SSH_ARGS", kOtherHosts},
            [&job](const std::string& text) { job.ssh_arguments = text; });
  add_value(app, "--agent-path",
            {"FILE", "Path of paceline on the hosts (default: its path here)", kOtherHosts},
            [&job](const std::string& text) { job.agent_path = text; });
  app.add_flag_callback(
         "--host-paths", [&job] { job.host_paths = true; },
         "Other hosts keep their own PATH and Python environment, not those set here")
      ->group(kOtherHosts);
  add_value(
      app, "--control",
      {"ADDR:PORT", "Serve clients of the job on TCP, too; port 0: any (docs/control.md)",
       kOtherHosts},
      [&job](const std::string& text) { job.control = valid("--control", parse_control(text)); });
}

void add_telemetry_options(CLI::App& app, JobSpec& job) {
  add_value(
      app, "--trace",
      {"FILE", "Write a trace of the job for ui.perfetto.dev or chrome://tracing", kTelemetry},
      [&job](const std::string& text) { job.trace_file = text; });
  add_value(app, "--evidence",
            {"FILE", "Record the measurements that name late ranks and slow links", kTelemetry},
            [&job](const std::string& text) { job.evidence_file = text; });
  add_value(app, "--metrics",
            {"ADDR:PORT", "Serve metrics for Prometheus at /metrics; only a port: 127.0.0.1:PORT",
             kTelemetry},
            [&job](const std::string& text) {
              job.metrics = valid("--metrics", parse_page_address(text));
            });
  add_value(app, "--peak-flops",
            {"N", "FLOP/s that the device of one rank can do, for MFU: 312e12", kTelemetry},
            [&job](const std::string& text) {
              job.peak_flop_per_s = valid("--peak-flops", parse_peak_flops(text));
            });
  add_value(app, "--dashboard",
            {"ADDR:PORT", "Serve a live page for browsers; the port may be that of --metrics",
             kTelemetry},
            [&job](const std::string& text) {
              job.dashboard = valid("--dashboard", parse_page_address(text));
            });
  app.add_flag_callback(
         "--no-python-hooks", [&job] { job.python_hooks = false; },
         "Leave out what lets `paceline status` show where Python of the ranks is")
      ->group(kTelemetry);
  app.add_option_function<std::vector<std::string>>(
         "--ablate",
         [&job](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const Ablation more = valid("--ablate", parse_ablation(text));
             job.ablation.communication |= more.communication;
             job.ablation.input |= more.input;
           }
         },
         "Leave out a part to see how fast the rest is; results are wrong then")
      ->type_name("comm|input")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(kTelemetry);
}

// CLI11 names the option in its error, so the text must not name it again.
std::string without_name(const std::string& text, const PlacementOption& option) {
  const std::string name = std::string(option.name) + " ";
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

void add_restart_options(CLI::App& app, JobSpec& job) {
  RestartRules& restarts = job.restarts;
  add_value(
      app, "--max-restarts",
      {"N", "Restart all ranks up to N times if one fails or a host is lost (default 0)", "End"},
      [&restarts](const std::string& text) {
        restarts.max_restarts = valid("--max-restarts", parse_restarts(text));
      });
  add_value(
      app, "--restart-window",
      {"S", "Only restarts in the last S seconds, or 90m, 2h, count (default: all)", kRestarts},
      [&restarts](const std::string& text) {
        restarts.window = valid("--restart-window", parse_seconds(text));
      });
  add_value(app, "--restart-delay",
            {"S", "Wait before a restart, doubled while failures are quick (default 1)", kRestarts},
            [&restarts](const std::string& text) {
              restarts.delay = valid("--restart-delay", parse_seconds(text));
            });
  add_value(app, "--cool-down",
            {"S", "A host that was lost gets no ranks for S seconds (default 300)", kRestarts},
            [&restarts](const std::string& text) {
              restarts.cool_down = valid("--cool-down", parse_seconds(text));
            });
  add_value(
      app, "--membership",
      {"FILE", "Log each start in FILE; another run of the job goes on from there", kRestarts},
      [&job](const std::string& text) { job.membership_file = text; });
  add_value(app, "--faults",
            {"FILE", "Faults to happen, one a line: at operation 100: kill rank 3", kRestarts},
            [&job](const std::string& text) { job.faults_file = text; });
  add_value(app, "--host-faults",
            {"FILE", "At the end, write hosts that failed and why, as JSON, to FILE", kRestarts},
            [&job](const std::string& text) { job.host_faults_file = text; });
}

// They have a page of their own.
void add_placement_options(CLI::App& app, PlacementSpec& placement) {
  for (const PlacementOption& option : placement_options()) {
    const auto use = [&placement, &option](const std::string& value) {
      const Status used = option.use(value, placement);
      if (!used.ok()) throw CLI::ValidationError(option.name, without_name(used.text(), option));
    };
    if (*option.form == '\0')
      app.add_flag_callback(option.name, [use] { use(""); })->group("");
    else
      add_value(app, option.name, {option.form, option.meaning, ""}, use);
  }
}

void add_job_options(CLI::App& app, JobSpec& job, ProgramSpec& program) {
  add_value(app, "--stdin", {"K|none", "Rank that reads standard input (default 0)", "Ranks"},
            [&job](const std::string& text) {
              job.stdin_rank = valid("--stdin", parse_stdin_rank(text));
            });
  add_host_options(app, job, program);
  add_other_host_options(app, job);
  add_telemetry_options(app, job);
  add_placement_options(app, job.placement);
  app.add_flag_callback(
         "--tag-output", [&job] { job.tag_output = true; },
         "Begin each line with [rank@host]; default if N > 1 (off: --no-tag-output)")
      ->group("Output");
  app.add_flag_callback(
         "--no-tag-output", [&job] { job.tag_output = false; },
         "Print lines without [rank@host]; default if N = 1")
      ->group("");
  app.add_flag_callback(
         "--timestamp-output", [&job] { job.timestamps = true; },
         "Begin each line with [rank@host time]")
      ->group("Output");
  add_value(app, "--output-dir",
            {"DIR", "Folder for the output files of each rank; %j in DIR: the job's id", "Output"},
            [&job](const std::string& text) { job.output_directory = text; });
  add_value(app, "--console-ranks",
            {"LIST", "Ranks whose output is shown: 0,4-7, all or none", "Output"},
            [&job](const std::string& text) {
              job.console_ranks = valid("--console-ranks", RankSet::parse(text));
            });
  add_restart_options(app, job);
  add_value(
      app, "--timeout", {"S", "End the job after S seconds, or 90m, 2h (default 0: never)", "End"},
      [&job](const std::string& text) { job.timeout = valid("--timeout", parse_seconds(text)); });
  add_value(app, "--grace",
            {"S", "Seconds from SIGTERM to SIGKILL for ranks that do not end (default 10)", "End"},
            [&job](const std::string& text) { job.grace = valid("--grace", parse_seconds(text)); });
  app.add_flag_callback(
         "--signal-groups", [&job] { job.signals_groups = true; },
         "Signal all processes of each rank at once, not its main process first")
      ->group("End");
  add_value(app, "--max-silence",
            {"S", "End the job if an agent does not answer for S seconds (default 10)", "End"},
            [&job](const std::string& text) {
              job.max_silence = valid("--max-silence", parse_max_silence(text));
            });
  app.add_flag_callback(
         "-q,--quiet", [&job] { job.quiet = true; },
         "Do not print the speed of the job and its losses at the end")
      ->group("Output");
  app.add_flag_callback(
         "--timings", [&job] { job.timings = true; },
         "Print at the end how long each step of start and end took")
      ->group("Output");
  app.add_flag("-h,--help")->description("This page")->group("End");
  app.add_flag("--help-placement")->group("");
  for (const HelpPage& page : kHelpPages) app.add_flag("--" + std::string(page.flag))->group("");
}

}  // namespace

void add_run_options(CLI::App& app, JobSpec& job, ProgramSpec& program) {
  app.set_help_flag();
  add_program_options(app, program);
  add_job_options(app, job, program);
}

}  // namespace paceline::launcher
