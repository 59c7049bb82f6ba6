// Rules about the GPUs of hosts.
#include <string>
#include <string_view>
#include <vector>

#include "launcher/tools/measure/check/host_rule.h"
#include "launcher/tools/measure/text_format.h"
#include "telemetry/job/figures.h"

namespace paceline::launcher {
namespace {

using probe::HostFacts;

Opinion gpu_count(const HostCase& at) {
  const int usual = at.usual(&HostFacts::gpus);
  const std::string& error = at.facts.gpu_error;
  const std::string why =
      error == "no_answer" ? "the driver does not answer" : "the driver's library crashed";
  return {.found = error.empty() ? std::to_string(at.facts.gpus) : why,
          .expected = error.empty() ? text("%d, like most hosts", usual) : "an answer",
          .fine = error.empty() && at.facts.gpus >= usual,
          .why = "ranks without a GPU of their own fail, or share one",
          .advice = "nvidia-smi, and the kernel's log (dmesg | grep -i nvrm)"};
}

Opinion gpu_models(const HostCase& at) {
  const std::string usual = at.usual(&HostFacts::gpu_models);
  return {.found = at.facts.gpu_models.empty() ? "not known" : at.facts.gpu_models,
          .expected = usual + ", like most hosts",
          .fine = at.facts.gpu_models == usual || at.facts.gpus != at.usual(&HostFacts::gpus),
          .why = "every step waits for the slowest GPU",
          .advice = "leave the host out, or give its ranks less work"};
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

Opinion gpu_lanes(const HostCase& at) {
  const std::string& narrow = at.facts.narrow_gpus;
  return {.found = narrow.empty() ? "all lanes" : "GPU " + narrow,
          .expected = "all PCIe lanes that GPU and slot have",
          .fine = narrow.empty(),
          .why = "copies to and from the GPU take longer",
          .advice = "insert the GPU or its riser again; nvidia-smi -q | grep -A3 'Link Width'"};
}

Opinion nvlinks(const HostCase& at) {
  const int usual = at.usual(&HostFacts::nvlinks);
  const bool has_other_gpus = at.facts.gpus != at.usual(&HostFacts::gpus);
  return {.found = text("%d up", at.facts.nvlinks),
          .expected = text("%d, like most hosts", usual),
          .fine = at.facts.nvlinks >= usual || has_other_gpus,
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
