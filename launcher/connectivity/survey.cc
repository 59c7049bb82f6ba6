#include "launcher/connectivity/survey.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/ip_address.h"
#include "comm/base/net_choice.h"
#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::uint32_t kMaxMtu = 1 << 20;
constexpr int kMaxPort = 65535;

std::string kernel_name() {
  std::array<char, kMaxNameBytes + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return "";
  return boot.append(" ").append(std::to_string(network.st_ino));
}

Status impossible(const char* what) {
  return Status(Code::kInternal, Scope::kPeer, std::string("its agent sent ") + what);
}

Result<HostInterface> read_address(const messages::HostAddress& message) {
  const std::optional<IpAddress> address = IpAddress::parse(message.address());
  if (!address || message.interface().empty() ||
      message.interface().size() > NetChoice::kMaxNameBytes)
    return impossible("an interface without a name or an address");
  if (message.prefix_bits() > static_cast<std::uint32_t>(address->bits()) ||
      message.mtu() > kMaxMtu || message.speed_mbits() < 0 ||
      message.kind() > static_cast<std::uint32_t>(InterfaceKind::kLoopback))
    return impossible("impossible numbers of an interface");
  return HostInterface{.name = printable(message.interface()),
                       .address = *address,
                       .prefix_bits = static_cast<int>(message.prefix_bits()),
                       .mtu = static_cast<int>(message.mtu()),
                       .speed_mbits = message.speed_mbits(),
                       .kind = static_cast<InterfaceKind>(message.kind()),
                       .is_up = message.up()};
}

}  // namespace

messages::Surveyed survey_this_host(const WallClock& clock, int door) {
  messages::Surveyed survey;
  survey.set_host_name(kernel_name());
  survey.set_machine(machine());
  survey.set_door(static_cast<std::uint32_t>(door));
  std::vector<HostInterface> all = interfaces_of_this_host();
  // Where there are too many, those that may be of use.
  std::stable_partition(all.begin(), all.end(), [](const HostInterface& one) {
    return one.is_up && one.kind == InterfaceKind::kOrdinary;
  });
  all.resize(std::min(all.size(), kMaxSurveyedAddresses));
  for (const HostInterface& one : all) {
    messages::HostAddress& address = *survey.add_addresses();
    address.set_interface(one.name);
    address.set_address(one.address.to_string());
    address.set_prefix_bits(static_cast<std::uint32_t>(one.prefix_bits));
    address.set_mtu(static_cast<std::uint32_t>(one.mtu));
    address.set_speed_mbits(one.speed_mbits);
    address.set_kind(static_cast<std::uint32_t>(one.kind));
    address.set_up(one.is_up);
  }
  survey.set_time_ns(clock.since_1970().count());
  return survey;
}

Result<HostSurvey> read_survey(const messages::Surveyed& message) {
  if (message.host_name().size() > kMaxNameBytes || message.machine().size() > kMaxNameBytes)
    return impossible("a name that is too long");
  if (message.door() == 0 || message.door() > kMaxPort) return impossible("an invalid port");
  if (std::cmp_greater(message.addresses_size(), kMaxSurveyedAddresses))
    return impossible("too many addresses");
  HostSurvey survey{.own_name = printable(message.host_name()),
                    .machine = message.machine(),
                    .door = static_cast<int>(message.door())};
  for (const messages::HostAddress& address : message.addresses()) {
    Result<HostInterface> interface = read_address(address);
    if (!interface.ok()) return interface.status();
    survey.interfaces.push_back(*std::move(interface));
  }
  return survey;
}

}  // namespace paceline::launcher
