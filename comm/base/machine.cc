#include "comm/base/machine.h"

#include <cstdint>
#include <fstream>
#include <span>
#include <string_view>

#include "comm/base/digest.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

constexpr int kMostCaches = 8;

// What names a CPU: the first five on x86, the others on Arm.
constexpr std::string_view kFields[] = {"vendor_id", "cpu family",      "model",   "model name",
                                        "stepping",  "CPU implementer", "CPU part"};

// A line "name<tabs>: value"; of the first CPU, all others are taken to be the same.
std::string cpu_model(const std::string& file) {
  std::ifstream cpus(file);
  std::string model;
  for (std::string line; std::getline(cpus, line) && !line.empty();) {
    const std::string_view name = std::string_view(line).substr(0, line.find_first_of("\t:"));
    for (const std::string_view field : kFields) {
      if (name == field) model += line + "\n";
    }
  }
  return model;
}

std::string first_line(const std::string& file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line + "\n";
}

}  // namespace

std::string machine_fingerprint(const std::string& root) {
  const std::string cpus = root + "/sys/devices/system/cpu/";
  std::string all = cpu_model(root + "/proc/cpuinfo") + first_line(cpus + "online");
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string cache = cpus + "cpu0/cache/index" + std::to_string(i) + "/";
    for (const char* const file : {"level", "type", "size", "shared_cpu_list"})
      all += first_line(cache + file);
  }
  const std::uint64_t value = digest(all);
  return to_hexadecimal(std::as_bytes(std::span(&value, 1)));
}

}  // namespace paceline
