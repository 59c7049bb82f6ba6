#include "launcher/agent/host_usage.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "launcher/agent/use_texts.h"

namespace paceline::launcher {
namespace {

constexpr const char* kStat =
    "cpu  100 20 30 4000 50 6 7 8 9 10\n"
    "cpu0 50 10 15 2000 25 3 4 4 4 5\n"
    "cpu1 50 10 15 2000 25 3 3 4 5 5\n"
    "intr 12345\nctxt 1\n";
constexpr const char* kNetDev =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
    "    lo: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0\n"
    "  eth0:1000 9 0 0 0 0 0 0 300 9 0 0 0 0 0 0\n"
    " veth1: 50 9 0 0 0 0 0 0 60 9 0 0 0 0 0 0\n";
constexpr const char* kDiskStats =
    "   7       0 loop0 10 0 80 1 2 0 16 0 0 0 0\n"
    " 254       0 vda 10 0 800 1 2 0 160 0 0 0 0 0 0 0 0\n"
    " 254       1 vda1 9 0 700 1 2 0 150 0 0 0 0 0 0 0 0\n";

// A folder with files of /proc and /sys.
class HostUsageTest : public ::testing::Test {
 protected:
  ~HostUsageTest() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::string file = root_ + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  HostFigures read() const { return read_host_usage(root_); }
  static std::string make_folder() {
    char name[] = "/tmp/paceline-host-XXXXXX";
    return ::mkdtemp(name);
  }

  const std::string root_ = make_folder();
};

TEST(UseTexts, CpuTimesAreSums) {
  HostFigures figures;
  read_cpu_times(kStat, 100, figures);
  EXPECT_EQ(figures.get(HostFigure::kCpus), 2);
  EXPECT_DOUBLE_EQ(*figures.get(HostFigure::kCpuBusy), 1.63);
  EXPECT_DOUBLE_EQ(*figures.get(HostFigure::kCpuStolen), 0.08);
}

TEST(UseTexts, PressureIsTheTimeOfSome) {
  EXPECT_EQ(stalled_seconds("some avg10=1.50 avg60=0.00 avg300=0.00 total=2500000\n"
                            "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"),
            2.5);
  EXPECT_EQ(stalled_seconds("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), 0);
  for (const char* const text : {"", "\n", " \n", "some\n", "some total=\n", "some total=-1\n",
                                 "full avg10=0.00 total=7\n", "some total=99999999999999999999\n"})
    EXPECT_FALSE(stalled_seconds(text)) << text;
}

TEST(UseTexts, WhatATextDoesNotSayIsUnknown) {
  for (const char* const text :
       {"", "\n\n", " ", "cpu\n", "cpu a b c\n", ":\n", "lo:\n", "1 2 vda\n", "MemTotal:\n",
        "MemTotal: x kB\n", "read_bytes:\n", "\xff\xff\n"}) {
    HostFigures figures;
    read_cpu_times(text, 100, figures);
    read_memory(text, figures);
    read_disks(
        text, [](const std::string&) { return true; }, figures);
    read_interfaces(
        text, [](const std::string&) { return true; }, figures);
    read_process_io(text, figures);
    EXPECT_TRUE(figures.is_empty()) << text;
  }
}

TEST(UseTexts, BytesOfAProcessAreThoseOfDisks) {
  HostFigures figures;
  read_process_io(
      "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 0\n"
      "cancelled_write_bytes: 5\n",
      figures);
  EXPECT_EQ(figures.get(HostFigure::kDiskRead), 4096);
  EXPECT_EQ(figures.get(HostFigure::kDiskWritten), 0);
}

TEST_F(HostUsageTest, ReadsAllThatThereIs) {
  write("/proc/stat", kStat);
  write("/proc/meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\nMemAvailable:    1024 kB\n");
  for (const char* const name : {"cpu", "memory", "io"})
    write(std::string("/proc/pressure/") + name, "some avg10=0.00 total=1000000\n");
  write("/proc/diskstats", kDiskStats);
  write("/proc/net/dev", kNetDev);
  write("/sys/block/vda/device/type", "");
  write("/sys/block/loop0/size", "");
  write("/sys/class/net/eth0/device/vendor", "");
  const HostFigures figures = read();
  EXPECT_EQ(figures.get(HostFigure::kMemory), 2048 * 1024);
  EXPECT_EQ(figures.get(HostFigure::kMemoryAvailable), 1024 * 1024);
  EXPECT_EQ(figures.get(HostFigure::kCpuStalled), 1);
  EXPECT_EQ(figures.get(HostFigure::kMemoryStalled), 1);
  EXPECT_EQ(figures.get(HostFigure::kIoStalled), 1);
  EXPECT_EQ(figures.get(HostFigure::kDiskRead), 800 * 512);
  EXPECT_EQ(figures.get(HostFigure::kDiskWritten), 160 * 512);
  EXPECT_EQ(figures.get(HostFigure::kReceived), 1000);
  EXPECT_EQ(figures.get(HostFigure::kSent), 300);
}

TEST_F(HostUsageTest, ContainersHaveInterfacesWithoutHardware) {
  write("/proc/net/dev", kNetDev);
  EXPECT_EQ(read().get(HostFigure::kReceived), 1050);
  EXPECT_EQ(read().get(HostFigure::kSent), 360);
}

TEST_F(HostUsageTest, MissingFilesAreUnknown) {
  EXPECT_TRUE(read().is_empty());
  write("/proc/diskstats", kDiskStats);
  EXPECT_FALSE(read().get(HostFigure::kDiskRead)) << "no disk has hardware";
}

TEST(HostUsage, ThisHostHasCpusAndMemory) {
  const HostFigures figures = read_host_usage();
  EXPECT_GE(figures.get(HostFigure::kCpus).value_or(0), 1);
  EXPECT_GT(figures.get(HostFigure::kCpuBusy).value_or(0), 0);
  EXPECT_GT(figures.get(HostFigure::kMemoryAvailable).value_or(0), 0);
}

}  // namespace
}  // namespace paceline::launcher
