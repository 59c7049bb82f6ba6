#include "launcher/stacks/process_texts.h"

#include <string>

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "launcher/stacks/process_view.h"
#include "launcher/stacks/python_memory.h"

namespace paceline::launcher {
namespace {

std::string stat_text(const std::string& name, char state) {
  return "4711 (" + name + ") " + state +
         " 4710 4700 1 0 -1 4194304 1 2 3 4 70 30 0 0 20 0 1 0 123456 1000 20 18446744073709551615";
}

TEST(ProcessTexts, AStatNamesStateGroupAndTimes) {
  const auto stat = parse_stat(stat_text("a) b (c", 'S'));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) b (c");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 4710);
  EXPECT_EQ(stat->group, 4700);
  EXPECT_EQ(stat->cpu_ticks, 100U);
  EXPECT_EQ(stat->start_time, 123456U);
}

TEST(ProcessTexts, ACutStatIsNone) {
  const std::string whole = stat_text("train", 'R');
  for (std::size_t length = 0; length + 40 < whole.size(); ++length)
    EXPECT_FALSE(parse_stat(whole.substr(0, length))) << length;
}

TEST(ProcessTexts, SignalsAreBitsOfMasks) {
  const std::string status =
      "Name:\tpython3\nSigBlk:\t0000000000000001\nSigCgt:\t4000000000000002\n";
  EXPECT_TRUE(has_signal(status, "SigCgt", 63));
  EXPECT_TRUE(has_signal(status, "SigCgt", 2));
  EXPECT_FALSE(has_signal(status, "SigCgt", 64));
  EXPECT_TRUE(has_signal(status, "SigBlk", 1));
  for (const int signal : {-1, 0, 65}) EXPECT_FALSE(has_signal(status, "SigCgt", signal));
  EXPECT_FALSE(has_signal("SigCgt:\tnonsense\n", "SigCgt", 1));
  EXPECT_FALSE(has_signal("", "SigCgt", 1));
}

TEST(ProcessTexts, NumbersFollowTheNamesOfLines) {
  const std::string text = "pos:\t65536\nflags:\t02\n";
  EXPECT_EQ(number_of_line(text, "pos"), 65536U);
  EXPECT_FALSE(number_of_line(text, "po"));
  EXPECT_FALSE(number_of_line("pos:\t-1\n", "pos"));
}

TEST(ProcessTexts, ACallSaysWhatItWaitsFor) {
  const auto write = parse_system_call(std::to_string(SYS_write) +
                                       " 0x1 0x7ffd 0x1000 0x0 0x0 0x0 0x7ffd0 0x7f00\n");
  ASSERT_TRUE(write);
  EXPECT_EQ(wait_of(*write).words, "write to");
  EXPECT_EQ(wait_of(*write).descriptor, 1);
  const auto futex =
      parse_system_call(std::to_string(SYS_futex) + " 0x7f 0x80 0x0 0x0 0x0 0x0 0x1 0x2");
  ASSERT_TRUE(futex);
  EXPECT_TRUE(wait_of(*futex).words.starts_with("futex"));
  EXPECT_FALSE(wait_of(*futex).descriptor);
  EXPECT_EQ(wait_of({.number = 100000}).words, "");
  for (const char* const text : {"running\n", "-1 0x7ffd 0x7f00\n", "", "1 0x1", "x 1 2 3 4 5 6 7"})
    EXPECT_FALSE(parse_system_call(text)) << text;
}

TEST(ProcessTexts, LinksSayWhatADescriptorIs) {
  EXPECT_EQ(descriptor_words("pipe:[123]"), "a pipe");
  EXPECT_EQ(descriptor_words("anon_inode:[eventpoll]"), "an epoll");
  EXPECT_EQ(descriptor_words("/dev/pts/3"), "the terminal /dev/pts/3");
  EXPECT_EQ(descriptor_words("/data/a\nb"), "the file /data/a?b");
  EXPECT_EQ(descriptor_words(""), "");
  EXPECT_EQ(socket_inode("socket:[42]"), 42U);
  EXPECT_FALSE(socket_inode("pipe:[42]"));
  EXPECT_FALSE(socket_inode("socket:[x]"));
}

TEST(ProcessTexts, TablesOfSocketsNamePeers) {
  const std::string tcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "11 1 0000000000000000 100 0 0 10 0\n"
      "   1: 0100007F:8235 0200000A:1267 01 00000000:00000000 00:00000000 00000000     0        0 "
      "12 1 0000000000000000 20 4 30 10 -1\n";
  EXPECT_EQ(tcp_words(tcp, 11), "a TCP socket that listens at 127.0.0.1:8080");
  EXPECT_EQ(tcp_words(tcp, 12), "a TCP connection to 10.0.0.2:4711");
  EXPECT_EQ(tcp_words(tcp, 13), "");
  const std::string tcp6 =
      "   0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200000A:1267 01 0:0 "
      "0:0 0 0 0 14 1\n"
      "   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:1267 01 0:0 "
      "0:0 0 0 0 15 1\n";
  EXPECT_EQ(tcp_words(tcp6, 14), "a TCP connection to 10.0.0.2:4711");
  EXPECT_EQ(tcp_words(tcp6, 15), "a TCP connection to [::1]:4711");
  EXPECT_EQ(unix_words("0000: 00000002 00000000 00010000 0001 01 77 /run/x\n", 77),
            "the Unix socket /run/x");
  EXPECT_EQ(unix_words("0000: 00000002 00000000 00000000 0001 03 78\n", 78), "a Unix socket");
}

SeenProcess seen(pid_t pid, pid_t parent, pid_t group, std::uint64_t ticks) {
  return {
      .pid = pid,
      .stat = {.name = "p", .state = 'S', .parent = parent, .group = group, .cpu_ticks = ticks}};
}

std::vector<pid_t> pids_of(const std::vector<SeenProcess>& processes) {
  std::vector<pid_t> pids;
  for (const SeenProcess& one : processes) pids.push_back(one.pid);
  return pids;
}

TEST(ProcessView, ARanksProcessesAreItsGroupAndItsDescendants) {
  const std::vector<SeenProcess> all{
      seen(1, 0, 1, 900),  seen(10, 1, 10, 5),  seen(11, 10, 10, 7),   seen(12, 11, 12, 50),
      seen(13, 1, 10, 20), seen(14, 12, 12, 1), seen(20, 1, 20, 1000), seen(21, 20, 20, 1)};
  EXPECT_EQ(pids_of(choose_processes(all, 10, {})), (std::vector<pid_t>{10, 12, 13, 11}));
  EXPECT_EQ(pids_of(choose_processes(all, 10, {14, 21})), (std::vector<pid_t>{10, 14, 12, 13}));
  EXPECT_TRUE(choose_processes(all, 99, {}).empty());
}

TEST(ProcessView, ParentsThatFormACircleEnd) {
  const std::vector<SeenProcess> all{seen(2, 3, 2, 0), seen(3, 2, 3, 0), seen(10, 1, 10, 0)};
  EXPECT_EQ(pids_of(choose_processes(all, 10, {})), std::vector<pid_t>{10});
}

TEST(PythonMemory, NotesThatAreNoneAreLeftOut) {
  std::string bytes(64, '\0');
  const auto write = [&bytes](std::size_t at, std::int32_t pid, std::int32_t signal) {
    const std::uint64_t executable = 77;
    bytes.replace(at, 4, reinterpret_cast<const char*>(&pid), 4);
    bytes.replace(at + 4, 4, reinterpret_cast<const char*>(&signal), 4);
    bytes.replace(at + 8, 8, reinterpret_cast<const char*>(&executable), 8);
  };
  write(16, 4711, 63);
  write(32, 4712, 9);
  write(48, -1, 63);
  EXPECT_EQ(parse_notes(bytes),
            (std::vector<PythonNote>{{.pid = 4711, .signal = 63, .executable = 77}}));
  EXPECT_TRUE(parse_notes("short").empty());
}

TEST(PythonMemory, LinesAreBoundedAndPrintable) {
  EXPECT_EQ(python_lines("Thread 1:\n\n  File \"a\x1b\", line 3 in f\nrest"),
            (std::vector<std::string>{"Thread 1:", "  File \"a?\", line 3 in f", "rest"}));
  EXPECT_EQ(python_lines(std::string(1 << 20, '\n')).size(), 0U);
  EXPECT_EQ(python_lines(std::string(5000, 'x'))[0].size(), kMaxFrameText);
}

TEST(PythonMemory, CannotGrowAndIsFoundOnlyWhereItIs) {
  const UniqueFd memory = make_python_memory().value();
  EXPECT_NE(::ftruncate(memory.get(), 2 << 20), 0);
  EXPECT_EQ(::lseek(memory.get(), 0, SEEK_CUR), static_cast<off_t>(kPythonTextBegin));
  const messages::HookMemory described = describe_python_memory(memory, memory.get());
  EXPECT_TRUE(open_python_memory(::getpid(), described));
  messages::HookMemory other = described;
  other.set_inode(described.inode() + 1);
  EXPECT_FALSE(open_python_memory(::getpid(), other));
  other = described;
  other.set_descriptor(0);
  EXPECT_FALSE(open_python_memory(::getpid(), other));
  ::lseek(memory.get(), kPythonMemoryBytes - 1, SEEK_SET);
  make_room_for_text(memory);
  EXPECT_EQ(::lseek(memory.get(), 0, SEEK_CUR), static_cast<off_t>(kPythonTextBegin));
}

}  // namespace
}  // namespace paceline::launcher
