#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/registry/registry.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebodyElse = 12345;

std::string id_of(std::uint64_t number) {
  char id[17];
  std::snprintf(id, sizeof id, "%016lx", static_cast<unsigned long>(number));
  return id;
}

class JobRegistryTest : public ::testing::Test {
 protected:
  JobRegistryTest() {
    for (const char* folder : {"first", "second", "shm", "cgroups"})
      fs::create_directories(root_ / folder);
  }
  ~JobRegistryTest() override { fs::remove_all(root_); }

  JobRegistry registry(const std::string& host = "here") const {
    return JobRegistry({.places = {root_ / "first", root_ / "second"},
                        .shared_memory = root_ / "shm",
                        .cgroups = root_ / "cgroups",
                        .user = ::geteuid(),
                        .host = host});
  }
  JobRecord record(std::uint64_t number = 1) const {
    return {.id = id_of(number),
            .host = "here",
            .head = {.pid = ::getpid(), .start_time = 5},
            .begin = TimePoint(std::chrono::seconds(number)),
            .ranks = 2,
            .grace = std::chrono::seconds(1),
            .command = "./train"};
  }
  fs::path users(const std::string& place) const {
    return root_ / place / ("paceline-" + std::to_string(::geteuid()));
  }
  fs::path folder(const std::string& place = "first", std::uint64_t number = 1) const {
    return users(place) / id_of(number);
  }
  fs::path shared_memory(const std::string& name) const {
    const fs::path path = root_ / "shm" / name;
    std::ofstream(path) << "bytes";
    return path;
  }
  // As a job leaves it whose processes were all killed.
  void leave_stale(std::uint64_t number = 1) const {
    const pid_t job = ::fork();
    if (job == 0) {
      const auto entered = registry().enter(record(number));
      ::_exit(entered.ok() && entered->warning.empty() ? 0 : 1);  // without leaving
    }
    int status = -1;
    ::waitpid(job, &status, 0);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(fs::exists(folder("first", number) / "record"));
  }

  const fs::path root_ =
      fs::path(::testing::TempDir()) / ("paceline_job_registry_" + std::to_string(::getpid()));
};

TEST_F(JobRegistryTest, AJobIsListedUntilItIsLeft) {
  auto entered = registry().enter(record());
  ASSERT_TRUE(entered.ok());
  EXPECT_EQ(entered->warning, "");
  EXPECT_EQ(fs::status(users("first")).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
  JobRecord written = record();
  written.cgroup = entered->cgroup;
  EXPECT_EQ(entered->cgroup, root_ / "cgroups" / ("paceline-" + id_of(1)));
  EXPECT_TRUE(fs::exists(entered->cgroup));
  EXPECT_EQ(registry().sweep().running, std::vector{written});
  EXPECT_TRUE(registry().is_running(record().id));
  entered->hold.leave();
  EXPECT_FALSE(fs::exists(entered->cgroup));
  EXPECT_FALSE(registry().is_running(record().id));
  EXPECT_TRUE(fs::is_empty(root_ / "first")) << "the user's folder goes with the last job";
}

TEST_F(JobRegistryTest, TheFolderOfAJobIsFoundInItsPlace) {
  EXPECT_EQ(registry().folder_of(id_of(1)), "");
  fs::remove(root_ / "first");
  std::ofstream(root_ / "first") << "no folder";
  auto entered = registry().enter(record());
  ASSERT_TRUE(entered.ok());
  EXPECT_EQ(entered->folder, folder("second"));
  EXPECT_EQ(registry().folder_of(id_of(1)), folder("second"));
}

TEST_F(JobRegistryTest, OnlyTheLastOfThoseWhoShareTheHoldClearsUp) {
  const fs::path own = shared_memory("paceline-" + id_of(1) + "-ring");
  const fs::path strange = shared_memory("paceline-" + id_of(2) + "-ring");
  auto entered = registry().enter(record());
  ASSERT_TRUE(entered.ok());
  fs::create_directories(folder() / "sockets");
  std::ofstream(folder() / "sockets/one") << "x";
  const pid_t other = ::fork();
  if (other == 0) {
    entered->hold.leave();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  EXPECT_TRUE(fs::exists(own));
  EXPECT_TRUE(registry().is_running(record().id));
  entered->hold.leave();
  EXPECT_FALSE(fs::exists(own));
  EXPECT_TRUE(fs::exists(strange));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(JobRegistryTest, ACrashedJobIsSweptAndALivingOneIsNot) {
  const fs::path stale = shared_memory("paceline-" + id_of(1) + "-ring");
  const fs::path living = shared_memory("paceline-" + id_of(2) + "-ring");
  leave_stale(1);
  const auto entered = registry().enter(record(2));
  ASSERT_TRUE(entered.ok());
  const auto found = registry().sweep();
  ASSERT_EQ(found.running.size(), 1u);
  EXPECT_EQ(found.running[0].id, id_of(2));
  EXPECT_EQ(found.removed, std::vector{id_of(1)});
  EXPECT_FALSE(fs::exists(root_ / "cgroups" / ("paceline-" + id_of(1))));
  EXPECT_TRUE(fs::exists(entered->cgroup));
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(living));
  EXPECT_FALSE(fs::exists(folder("first", 1)));
}

TEST_F(JobRegistryTest, WhatACrashWhileStartingLeavesIsSwept) {
  fs::create_directories(users("first") / (id_of(1) + ".new0"));
  fs::create_directories(users("first") / (id_of(2) + ".new1"));
  std::ofstream(users("first") / (id_of(2) + ".new1/record")) << "id 00";
  fs::permissions(users("first"), fs::perms::owner_all);
  EXPECT_TRUE(registry().sweep().running.empty());
  EXPECT_FALSE(fs::exists(users("first")));
}

TEST_F(JobRegistryTest, WhatIsNoJobsFolderIsLeftAlone) {
  fs::create_directories(users("first") / "notes");
  std::ofstream(users("first") / "0123") << "x";
  fs::permissions(users("first"), fs::perms::owner_all);
  registry().sweep();
  EXPECT_TRUE(fs::exists(users("first") / "notes"));
  EXPECT_TRUE(fs::exists(users("first") / "0123"));
}

TEST_F(JobRegistryTest, AnotherHostsJobsAreItsOwn) {
  leave_stale();
  const auto found = registry("elsewhere").sweep();
  EXPECT_TRUE(found.running.empty());
  EXPECT_TRUE(found.removed.empty());
  EXPECT_TRUE(fs::exists(folder()));
}

TEST_F(JobRegistryTest, ATrapIsRefusedAndTheNextPlaceTaken) {
  fs::create_directories(root_ / "trap");
  fs::permissions(root_ / "trap", fs::perms::owner_all);
  fs::create_directory_symlink(root_ / "trap", users("first"));
  auto entered = registry().enter(record());
  ASSERT_TRUE(entered.ok());
  EXPECT_EQ(entered->warning, "");
  EXPECT_TRUE(fs::is_empty(root_ / "trap"));
  EXPECT_TRUE(fs::exists(folder("second")));
  EXPECT_EQ(registry().sweep().running.size(), 1u);
}

TEST_F(JobRegistryTest, ARecordThatIsALinkIsNotFollowed) {
  fs::create_directories(folder());
  fs::permissions(users("first"), fs::perms::owner_all);
  std::ofstream(root_ / "precious") << "x";
  fs::create_symlink(root_ / "precious", folder() / "record");
  registry().sweep();
  EXPECT_TRUE(fs::exists(root_ / "precious"));
}

TEST_F(JobRegistryTest, FoldersOfOthersOrOpenToThemAreRefused) {
  fs::create_directories(users("first"));
  fs::permissions(users("first"), fs::perms::owner_all | fs::perms::group_write);
  auto open = open_user_folder(root_ / "first", ::geteuid(), IfMissing::kMake);
  EXPECT_NE(open.status().text().find("other users have access to it"), std::string::npos);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::permissions(users("first"), fs::perms::owner_all);
  ASSERT_EQ(::chown(users("first").c_str(), kSomebodyElse, kSomebodyElse), 0);
  auto foreign = open_user_folder(root_ / "first", ::geteuid(), IfMissing::kMake);
  EXPECT_NE(foreign.status().text().find("belongs to user 12345"), std::string::npos);
}

TEST_F(JobRegistryTest, WithoutAPlaceTheJobRunsAndClearsUpAllTheSame) {
  for (const char* place : {"first", "second"}) std::ofstream(users(place)) << "in the way";
  const fs::path own = shared_memory("paceline-" + id_of(1) + "-ring");
  auto entered = registry().enter(record());
  ASSERT_TRUE(entered.ok());
  EXPECT_NE(entered->warning.find("this job cannot be recorded"), std::string::npos);
  EXPECT_NE(entered->warning.find((root_ / "second").string()), std::string::npos);
  const pid_t other = ::fork();
  if (other == 0) {
    entered->hold.leave();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  EXPECT_TRUE(fs::exists(own)) << "this process still holds it";
  entered->hold.leave();
  EXPECT_FALSE(fs::exists(own));
}

// The nearest to a full disk that needs no rights: no file may grow.
TEST_F(JobRegistryTest, AFullDiskIsAWarning) {
  const pid_t job = ::fork();
  if (job == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    const auto entered = registry().enter(record());
    const bool told = entered.ok() && entered->warning.find("cannot write") != std::string::npos;
    ::_exit(told ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(job, &status, 0), job);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(!fs::exists(users("first")) || fs::is_empty(users("first")));
}

TEST_F(JobRegistryTest, SweepersAndStartingJobsDoNotHarmEachOther) {
  constexpr std::uint64_t kJobs = 300;
  std::atomic<bool> done = false;
  std::vector<std::thread> sweepers;
  for (int i = 0; i < 3; ++i)
    sweepers.emplace_back([this, &done] {
      while (!done) registry().sweep();
    });
  for (std::uint64_t number = 1; number <= kJobs; ++number) {
    auto entered = registry().enter(record(number));
    ASSERT_TRUE(entered.ok());
    EXPECT_EQ(entered->warning, "") << number;
    EXPECT_TRUE(registry().is_running(id_of(number))) << number;
    const auto running = registry().sweep().running;
    const auto is_this = [&](const JobRecord& job) { return job.id == id_of(number); };
    EXPECT_EQ(std::count_if(running.begin(), running.end(), is_this), 1) << number;
    entered->hold.leave();
  }
  done = true;
  for (std::thread& sweeper : sweepers) sweeper.join();
  registry().sweep();
  EXPECT_FALSE(fs::exists(users("first")));
  EXPECT_FALSE(fs::exists(users("second")));
}

TEST(RuntimePlacesTest, TheBestFirstAndNoneTwice) {
  const auto with = [](const char* runtime, const char* temporary) {
    return runtime_places(
        [=](const char* name) { return std::string(name) == "TMPDIR" ? temporary : runtime; }, 7);
  };
  using Places = std::vector<std::string>;
  EXPECT_EQ(with("/run/mine", "/scratch"),
            (Places{"/run/mine", "/run/user/7", "/scratch", "/tmp"}));
  EXPECT_EQ(with("/run/user/7", "/tmp"), (Places{"/run/user/7", "/tmp"}));
  EXPECT_EQ(with(nullptr, nullptr), (Places{"/run/user/7", "/tmp"}));
  EXPECT_EQ(with("", "relative"), (Places{"/run/user/7", "/tmp"}));
}

}  // namespace
}  // namespace paceline::launcher
