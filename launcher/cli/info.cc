// paceline info: the build, and every environment variable that tunes a job.
#include <cstdio>
#include <string>

#include "collectives/gradient/kernels/image.h"
#include "comm/base/environment.h"
#include "comm/device/device_group.h"
#include "comm/device/process_devices.h"
#include "launcher/channel/build_name.h"
#include "launcher/cli/command.h"
#include "launcher/system/complain.h"

namespace paceline::launcher {

namespace {

std::string gpu_memory() {
  const Result<Devices*> devices = ProcessDevices::of_process().open_with_driver();
  if (!devices.ok()) return "none on this host: " + devices.status().text();
  const Result<DeviceGroups*> library = (*devices)->groups();
  return (*devices)->description() +
         (library.ok() ? "; by " + (*library)->name() + ", unless PACELINE_NCCL is 0"
                       : "; through host memory, because " + library.status().text());
}

}  // namespace

int info_command(std::span<const std::string> arguments) {
  if (!arguments.empty() && arguments.front() != "--help" && arguments.front() != "-h") {
    return complain("'info' takes no arguments, but got '" + arguments.front() + "'");
  }
  if (!arguments.empty()) {
    std::puts(
        "usage: paceline info\n"
        "Shows the version, whether operations on GPU memory are possible here, whether the\n"
        "build has kernels for GPUs, and the environment variables that ranks read.\n"
        "\n"
        "Exit code: 0. 125: a wrong argument.\n"
        "\n"
        "Example:  paceline info | grep -A 2 PACELINE_NET");
    return 0;
  }
  std::printf(
      "paceline %s\nGPU memory: %s\nGPU kernels: %s\n\nEnvironment variables that a rank reads:\n",
      std::string(build_name()).c_str(), gpu_memory().c_str(),
      has_gradient_kernels() ? "for compute capability 8.0 and later"
                             : "none, because nvcc was missing or too old when this was built");
  for (const Variable& variable : environment_variables()) {
    const auto text = [](std::string_view view) { return std::string(view); };
    std::printf("  %s\n      %s\n      form: %s; default: %s\n", text(variable.name).c_str(),
                text(variable.meaning).c_str(), text(variable.form).c_str(),
                text(variable.fallback).c_str());
  }
  std::puts(
      "\nEnvironment variable that `paceline run` reads:\n"
      "  PACELINE_SSH_ARGS\n"
      "      arguments of ssh, used if --ssh-args is not set\n"
      "      form: words as in a shell; default: none");
  return 0;
}

}  // namespace paceline::launcher
