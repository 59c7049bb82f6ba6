#include "launcher/tools/lab/lab_plan.h"

#include <array>
#include <cstdio>

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxName = 16;
constexpr int kSwitchNumber = 254;

std::string network(int rail) { return "10." + std::to_string(77 + rail) + ".0."; }

// 02: of nobody's making, and the same in each lab, so that a bridge keeps its address when ports
// come and go.
std::string hardware_address(int rail, int number) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "02:70:6c:%02x:00:%02x",
                static_cast<unsigned>(rail) & 0xff, static_cast<unsigned>(number) & 0xff);
  return text.data();
}

}  // namespace

bool is_lab_name(std::string_view word) {
  return !word.empty() && word.size() <= kMaxName && word.front() != '-' &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

std::string lab_host(int host) { return std::string("h").append(std::to_string(host + 1)); }
std::string lab_interface(int rail) { return "eth" + std::to_string(rail); }
std::string lab_port(int host, int rail) { return lab_host(host) + "e" + std::to_string(rail); }
std::string lab_tap(int host, int rail) { return lab_host(host) + "t" + std::to_string(rail); }
std::string lab_bridge(int rail) { return "br" + std::to_string(rail); }
std::string lab_address(int host, int rail) { return network(rail) + std::to_string(host + 1); }
std::string lab_switch_address(int rail) { return network(rail) + std::to_string(kSwitchNumber); }

std::string lab_hardware_address(int host, int rail) { return hardware_address(rail, host + 1); }
std::string lab_bridge_hardware_address(int rail) { return hardware_address(rail, kSwitchNumber); }

std::optional<int> find_lab_host(const LabPlan& plan, std::string_view name) {
  for (int host = 0; host < plan.hosts; ++host)
    if (name == lab_host(host)) return host;
  return std::nullopt;
}

std::string lab_hostfile(const LabPlan& plan) {
  std::string text;
  for (int host = 0; host < plan.hosts; ++host)
    text += lab_host(host) + " slots=" + std::to_string(plan.slots) + "\n";
  return text;
}

// A name has one address, that of the first rail; the other rails have names of their own.
std::string lab_etc_hosts(const LabPlan& plan) {
  std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n";
  for (int rail = 0; rail < plan.rails(); ++rail) {
    const std::string suffix =
        rail == 0 ? std::string() : std::string("-").append(lab_interface(rail));
    for (int host = 0; host < plan.hosts; ++host)
      text += lab_address(host, rail) + " " + lab_host(host) + suffix + "\n";
    text += lab_switch_address(rail) + " " + kSwitch + suffix + "\n";
  }
  return text;
}

}  // namespace paceline::launcher
