#include "launcher/system/program_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

class ProgramFileTest : public ::testing::Test {
 protected:
  ProgramFileTest() {
    fs::create_directories(root_ / "a/folder");
    fs::create_directories(root_ / "b");
    write("a/plain", false);
    write("b/plain", true);
    write("b/prog", true);
    write("here", true);
  }
  ~ProgramFileTest() override { fs::remove_all(root_); }

  void write(const std::string& name, bool executable,
             const std::string& content = "#!/bin/sh\n") const {
    std::ofstream(root_ / name) << content;
    fs::permissions(root_ / name, executable ? fs::perms::owner_all : fs::perms::owner_read);
  }
  ProgramFile find(const std::string& name) const {
    return find_program(name, "a:" + (root_ / "b").string(), root_.string());
  }

  fs::path root_ =
      fs::path(::testing::TempDir()) / ("paceline_program_file_" + std::to_string(::getpid()));
};

TEST_F(ProgramFileTest, SearchesTheFoldersInTurn) {
  EXPECT_EQ(find("prog").path, (root_ / "b/prog").string());
  EXPECT_EQ(find("prog").error, 0);
  EXPECT_EQ(find("plain").path, (root_ / "b/plain").string()) << "the first is not executable";
}

TEST_F(ProgramFileTest, PathsAreTakenAsTheyAre) {
  EXPECT_EQ(find("b/prog").path, "b/prog");
  EXPECT_EQ(find("b/prog").error, 0);
  EXPECT_EQ(find("./nothing").error, ENOENT);
  EXPECT_EQ(find("here/nothing").error, ENOENT);
}

TEST_F(ProgramFileTest, SaysWhyNot) {
  EXPECT_EQ(find("a/plain").error, EACCES);
  EXPECT_NE(find("a/plain").text.find("chmod +x"), std::string::npos);
  EXPECT_EQ(find("a/folder").error, EACCES);
  EXPECT_EQ(find("folder").error, EACCES);
  EXPECT_EQ(find("nothing").error, ENOENT);
  EXPECT_EQ(find("nothing").text, "there is no program 'nothing' in PATH");
  EXPECT_NE(find("here").text.find("write ./here"), std::string::npos);
}

TEST_F(ProgramFileTest, OnlyTextWithoutAnInterpreterLineGoesToTheShell) {
  using std::string_literals::operator""s;
  write("script", true, "echo a\n");
  write("empty", true, "");
  write("truncated", true,
        "\x7f"
        "ELF");
  write("binary", true, "ab\0cd\n"s);
  write("text_then_binary", true, "echo a\n\0"s);
  for (const auto& [name, is_script] : {std::pair("./script", true),
                                        {"./empty", true},
                                        {"./truncated", false},
                                        {"./binary", false},
                                        {"./text_then_binary", true},
                                        {"./here", false}}) {
    EXPECT_EQ(find(name).error, 0) << name;
    EXPECT_EQ(find(name).is_shell_script, is_script) << name;
  }
}

TEST_F(ProgramFileTest, AMissingInterpreterIsNamed) {
  write("dos", true, "#!/bin/sh\r\necho a\r\n");
  write("python", true, "#! /no/such/python -u\n");
  write("relative", true, "#!b/prog\n");
  EXPECT_EQ(find("./dos").error, ENOENT);
  EXPECT_EQ(find("./dos").text,
            "'./dos' needs the interpreter '/bin/sh?', which does not exist; its first line ends "
            "in a carriage return (convert the file with dos2unix)");
  EXPECT_EQ(find("./python").text,
            "'./python' needs the interpreter '/no/such/python', which does not exist");
  EXPECT_EQ(find("./relative").error, 0);
}

}  // namespace
}  // namespace paceline::launcher
