// Rules about the GPUs of hosts.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/tools/measure/check/host_rule.h"
#include "launcher/tools/measure/text_format.h"
#include "telemetry/job/figures.h"

namespace paceline::launcher {
namespace {

using probe::HostFacts;

std::string error_text(const std::string& error) {
  if (error == "no_answer") return "the driver does not answer";
  if (error == "crash") return "the driver's library crashed";
  return "the driver cannot start (NVML error " + error + ")";
}

// Hosts with other GPUs are not compared.
template <class T>
T most_alike(const HostCase& at, T HostFacts::*member) {
  T most{};
  for (const HostFacts& one : at.all.facts)
    if (one.gpu_models == at.facts.gpu_models) most = std::max(most, one.*member);
  return most;
}

Opinion gpu_count(const HostCase& at) {
  int usual = at.usual(&HostFacts::gpus);
  // Two hosts have no majority, so the host with more GPUs is right.
  if (at.all.facts.size() == 2)
    for (const HostFacts& one : at.all.facts) usual = std::max(usual, one.gpus);
  const std::string& lost = at.facts.lost_gpus;
  std::string found = std::to_string(at.facts.gpus);
  if (!lost.empty()) found += "; lost: GPU " + lost;
  if (!at.facts.gpu_error.empty()) found = error_text(at.facts.gpu_error);
  return {.found = found,
          .expected = at.facts.gpu_error.empty() ? text("%d, like most hosts", usual) : "an answer",
          .fine = at.facts.gpu_error.empty() && lost.empty() && at.facts.gpus >= usual,
          .why = "ranks without a GPU of their own fail, or share one",
          .advice = "nvidia-smi, nvidia-persistenced, and the kernel's log (dmesg | grep -i nvrm)"};
}

Opinion gpu_models(const HostCase& at) {
  const std::string usual = at.usual(&HostFacts::gpu_models);
  const bool is_compared = at.facts.gpus == at.usual(&HostFacts::gpus);
  const auto shown = [](const std::string& models) { return models.empty() ? "none" : models; };
  return {.found = shown(at.facts.gpu_models),
          .expected = shown(usual) + ", like most hosts",
          .fine = at.facts.gpu_models == usual || !is_compared,
          .why = "every step waits for the slowest GPU",
          .advice = "run a job on hosts with the same GPUs, or give slower ones less work"};
}

Opinion gpu_clocks(const HostCase& at) {
  const std::vector<std::string_view> words =
      clock_limit_words(static_cast<double>(at.facts.gpu_clock_limits));
  std::string found;
  for (const std::string_view one : words) found.append(found.empty() ? "" : ", ").append(one);
  return {
      .found = words.empty() ? "not limited" : found + " limits GPU " + at.facts.limited_gpus,
      .expected = "not limited by heat, power supply or hardware",
      .fine = words.empty(),
      .why = "every step waits for the slowest GPU",
      .advice = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER; check fans and power supplies"};
}

Opinion gpu_memory_errors(const HostCase& at) {
  const bool fine = at.facts.gpu_memory_errors == 0;
  return {.found = text("%llu uncorrected",
                        static_cast<unsigned long long>(at.facts.gpu_memory_errors)) +
                   (fine ? "" : " on GPU " + at.facts.gpus_with_errors),
          .expected = "0 uncorrected",
          .fine = fine,
          .why = "a program that used the memory was ended, or computed wrong values",
          .advice = "nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU, or replace it"};
}

// A slot may have fewer lanes than the GPU, on all hosts alike.
Opinion gpu_lanes(const HostCase& at) {
  const std::string& narrow = at.facts.narrow_gpus;
  const bool is_usual = at.all.facts.size() > 2 && narrow == at.usual(&HostFacts::narrow_gpus);
  return {.found = narrow.empty() ? "all lanes" : "GPU " + narrow,
          .expected = "all PCIe lanes of each GPU",
          .fine = narrow.empty() || is_usual,
          .why = "copies to and from the GPU take longer",
          .advice = "if its slot has more lanes, insert the GPU or its riser again"};
}

Opinion nvlinks(const HostCase& at) {
  const int most = most_alike(at, &HostFacts::nvlinks);
  return {.found = text("%d up", at.facts.nvlinks),
          .expected = text("%d, as on hosts with the same GPUs", most),
          .fine = at.facts.nvlinks >= most,
          .why = "operations between GPUs of the host go over slower links",
          .advice = "nvidia-smi nvlink --status; systemctl status nvidia-fabricmanager"};
}

constexpr HostRule kGpuRules[] = {
    {"GPUs", gpu_count},        {"GPU models", gpu_models},
    {"GPU clocks", gpu_clocks}, {"GPU memory", gpu_memory_errors},
    {"GPU lanes", gpu_lanes},   {"NVLink", nvlinks},
};

}  // namespace

std::span<const HostRule> gpu_rules() { return kGpuRules; }

}  // namespace paceline::launcher
