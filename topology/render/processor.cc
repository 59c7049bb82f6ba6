#include "topology/render/processor.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace paceline::topology {
namespace {

constexpr int kZen1Or2 = 0x8f, kZen3Or4 = 0xaf, kZen5 = 0xbf;
constexpr int kBroadwell = 0x4f, kSkylake = 0x55, kIceLake = 0x6a, kSapphireRapids = 0x8f,
              kEmeraldRapids = 0xcf, kGraniteRapids = 0xad;

constexpr std::string_view kDigits = "0123456789";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// 7763, 7A53, 9654P: the last digit is the generation.
int family_of_epyc(std::string_view name) {
  const std::string_view number = name.substr(0, name.find_first_of(" -"));
  const std::size_t last = number.find_last_of(kDigits);
  if (last == number.npos) return kZen3Or4;
  const char generation = number[last];
  if (generation == '1' || generation == '2') return kZen1Or2;
  return generation == '5' ? kZen5 : kZen3Or4;
}

// Of Platinum 8259CL the second digit is the generation; before these there were E5-2695 v4, and
// behind them is Xeon 6.
int model_of_xeon(std::string_view name) {
  constexpr std::array<std::string_view, 4> kMetals = {"Platinum ", "Gold ", "Silver ", "Bronze "};
  for (const std::string_view metal : kMetals) {
    const std::size_t at = name.find(metal);
    if (at == name.npos) continue;
    const std::string_view number = name.substr(at + metal.size());
    if (number.size() < 2) return kSkylake;
    switch (number[1]) {
      case '3':
        return kIceLake;
      case '4':
        return kSapphireRapids;
      case '5':
        return kEmeraldRapids;
      default:
        return kSkylake;
    }
  }
  return has(name, "Xeon(R) 6") || has(name, "Xeon 6") ? kGraniteRapids : kBroadwell;
}

}  // namespace

Processor processor_of(std::string_view cpu_model) {
  constexpr std::string_view kEpyc = "EPYC ";
  const std::size_t epyc = cpu_model.find(kEpyc);
  if (epyc != cpu_model.npos)
    return {.vendor = "AuthenticAMD",
            .family = family_of_epyc(cpu_model.substr(epyc + kEpyc.size()))};
  if (has(cpu_model, "AMD Instinct"))  // MI300A: GPU and CPU in one
    return {.vendor = "AuthenticAMD", .family = kZen3Or4};
  if (has(cpu_model, "AMD")) return {.vendor = "AuthenticAMD", .family = kZen1Or2};
  const bool is_xeon = has(cpu_model, "Xeon");
  return {.vendor = "GenuineIntel",
          .family = 6,
          .model = is_xeon ? model_of_xeon(cpu_model) : kSkylake};
}

Fact<Processor> nccl_processor_of(const HostModel& host, const CpuSet& cpus) {
  if (host.processor.is_known()) return host.processor;
  std::string_view name;
  for (const Package& package : host.packages)
    if (name.empty() || package.cpus.has_any(cpus)) name = package.cpu_model;
  constexpr std::array<std::string_view, 5> kMakers = {"AMD", "EPYC", "Intel", "INTEL", "Xeon"};
  const bool tells = std::ranges::any_of(kMakers, [&](auto maker) { return has(name, maker); });
  return tells ? known(processor_of(name)) : Fact<Processor>();
}

}  // namespace paceline::topology
