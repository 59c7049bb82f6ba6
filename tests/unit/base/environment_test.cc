#include "comm/base/environment.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Environment> read(const Variables& variables) {
  return read_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// What a variable makes of good values, and values that are not of its form.
struct Row {
  std::string name;
  std::string (*field)(const Environment&);  // as text, so that one table holds all types
  std::string fallback;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

template <std::optional<int> Environment::*Field>
std::string number(const Environment& environment) {
  const auto& field = environment.*Field;
  return field ? std::to_string(*field) : "none";
}
template <std::string Environment::*Field>
std::string text(const Environment& environment) {
  return environment.*Field;
}
template <std::chrono::seconds Environment::*Field>
std::string seconds(const Environment& environment) {
  return std::to_string((environment.*Field).count());
}
std::string log_level(const Environment& environment) {
  const char* const names[] = {"info", "warning", "error", "off"};
  return names[static_cast<std::size_t>(environment.log_level)];
}
std::string backend(const Environment& environment) {
  const char* const names[] = {"auto", "shm", "tcp"};
  return names[static_cast<std::size_t>(environment.backend)];
}
std::string shm_method(const Environment& environment) {
  return environment.shm_method ? std::string(word_of(*environment.shm_method)) : "auto";
}
std::string explain(const Environment& environment) { return environment.explain ? "1" : "0"; }
std::string segment(const Environment& environment) {
  return std::to_string(environment.segment_bytes);
}
std::string determinism(const Environment& environment) {
  const char* const names[] = {"fast", "run_stable", "placement_stable"};
  return names[static_cast<std::size_t>(environment.determinism)];
}
std::string port_range(const Environment& environment) {
  return environment.port_range.to_string();
}
std::string host_cpus(const Environment& environment) { return environment.host_cpus.to_text(); }
std::string nccl(const Environment& environment) { return environment.nccl ? "1" : "0"; }
std::string integrity(const Environment& environment) { return environment.integrity ? "1" : "0"; }
std::string terminal(const Environment& environment) { return environment.terminal ? "1" : "0"; }
std::string ablation(const Environment& environment) { return environment.ablation.to_text(); }

const std::vector<std::string> kNoNumbers = {
    "x", "1x", "x1", " 1", "1 ", "+1", "1.5", "0x10", "-", "1e3", "99999999999999999999999"};

std::vector<std::string> no_numbers_nor(std::vector<std::string> more) {
  more.insert(more.end(), kNoNumbers.begin(), kNoNumbers.end());
  return more;
}

const std::vector<std::string> kWords = {"a", "with space", "ünïcödé", std::string(5000, 'x')};

std::vector<Row> rows_of_job() {
  using E = Environment;
  const auto no_descriptor = no_numbers_nor({"-1", "1048577"});
  return {
      {"RANK", number<&E::rank>, "none", {"0", "7", "1048575"}, no_numbers_nor({"-1", "1048576"})},
      {"WORLD_SIZE",
       number<&E::world_size>,
       "none",
       {"1", "1048576"},
       no_numbers_nor({"0", "-1", "1048577"})},
      {"LOCAL_WORLD_SIZE",
       number<&E::local_world_size>,
       "none",
       {"1", "1048576"},
       no_numbers_nor({"0", "-1", "1048577"})},
      {"PACELINE_LAUNCHED_AS", text<&E::launched_as>, "", kWords, {}},
      {"MASTER_ADDR", text<&E::master_addr>, "", kWords, {}},
      {"MASTER_PORT",
       number<&E::master_port>,
       "none",
       {"1", "29500", "65535"},
       no_numbers_nor({"0", "-1", "65536"})},
      {"PACELINE_STORE", text<&E::store>, "", kWords, {}},
      {"PACELINE_JOB_ID", text<&E::job_id>, "", kWords, {}},
      {"PACELINE_HOST", text<&E::host>, "", kWords, {}},
      {"PACELINE_BIND_ADDRESS", text<&E::bind_address>, "", kWords, {}},
      {"PACELINE_NET",
       text<&E::net>,
       "",
       {"eth0", "=ib0,10.0.0.0/8", "^docker,lo", "fd00::/8"},
       {"10.0.0.0/33", "10.0.0/8", "eth0,,", "a b", "sixteen-letters-", "^"}},
      {"PACELINE_PORT_RANGE",
       port_range,
       "0-0",
       {"50000-50999", "1-65535", "7-7"},
       {"0-10", "10-9", "1-65536", "1-", "-1", "a-b", "1-2-3", " 1-2"}},
      {"NCCL_SOCKET_IFNAME", text<&E::nccl_socket_ifname>, "", kWords, {}},
      {"GLOO_SOCKET_IFNAME", text<&E::gloo_socket_ifname>, "", kWords, {}},
      {"PACELINE_JOB_KEY_FD", number<&E::job_key_fd>, "none", {"0", "3"}, no_descriptor},
      {"PACELINE_JOB_KEY_FILE", text<&E::job_key_file>, "", kWords, {}},
      {"PACELINE_FLIGHT_FD", number<&E::flight_fd>, "none", {"0", "1023"}, no_descriptor},
      {"PACELINE_LEDGER_FD", number<&E::ledger_fd>, "none", {"0", "1023"}, no_descriptor},
      {"PACELINE_TIMEOUT_S",
       seconds<&E::timeout_s>,
       "300",
       {"1", "300", "31536000"},
       no_numbers_nor({"0", "-1", "31536001"})},
      {"PACELINE_STALL_S",
       seconds<&E::stall_s>,
       "30",
       {"1", "30", "31536000"},
       no_numbers_nor({"0", "-1", "31536001"})},
  };
}

std::vector<Row> rows_of_choices() {
  using E = Environment;
  return {
      {"PACELINE_LOG_LEVEL",
       log_level,
       "warning",
       {"info", "warning", "error", "off"},
       no_numbers_nor({"0", "2", "WARNING", "warn", "warnings", "offx", "debug"})},
      {"PACELINE_BACKEND", backend, "auto", {"auto", "shm", "tcp"}, {"SHM", "auto ", "nccl", "0"}},
      {"PACELINE_HOST_CPUS", host_cpus, "", {"0", "0-3,8"}, {"a", "3-1", "0,", "65536"}},
      {"PACELINE_SHM_METHOD",
       shm_method,
       "auto",
       {"auto", "eager", "gathered", "pipelined", "zero_copy"},
       {"EAGER", "zero-copy", "eager ", "direct", "0"}},
      {"PACELINE_EXPLAIN", explain, "0", {"0", "1"}, no_numbers_nor({"2", "yes", "01"})},
      {"PACELINE_NCCL", nccl, "1", {"0", "1"}, no_numbers_nor({"2", "off", "01"})},
      {"PACELINE_TUNING", text<&E::tuning>, "", kWords, {}},
      {"PACELINE_ALGORITHM", text<&E::algorithm>, "", kWords, {}},
      {"PACELINE_SEGMENT_BYTES",
       segment,
       "0",
       {"64", "1000", "1073741824"},
       no_numbers_nor({"0", "63", "-1", "1073741825"})},
      {"PACELINE_DETERMINISM",
       determinism,
       "fast",
       {"fast", "run_stable", "placement_stable"},
       {"stable", "FAST", "run", "0", "placement_stable "}},
      {"PACELINE_INTEGRITY", integrity, "0", {"0", "1"}, no_numbers_nor({"2", "yes", "01"})},
      {"PACELINE_ABLATE",
       ablation,
       "",
       {"comm", "input", "comm,input"},
       {"com", "comm,", ",input", "input,input", "comm input", "0"}},
      {"PACELINE_TERMINAL", terminal, "0", {"0", "1"}, no_numbers_nor({"2", "yes", "01"})},
  };
}

std::vector<Row> rows() {
  std::vector<Row> all = rows_of_job();
  for (Row& row : rows_of_choices()) all.push_back(std::move(row));
  return all;
}

TEST(Environment, EveryVariableOfTheTableIsTestedHere) {
  std::set<std::string> tested, there;
  for (const Row& row : rows()) tested.insert(row.name);
  for (const Variable& variable : environment_variables()) there.emplace(variable.name);
  EXPECT_EQ(tested, there);
  EXPECT_EQ(there.size(), environment_variables().size()) << "a name stands there twice";
}

TEST(Environment, EveryVariableIsDocumented) {
  for (const Variable& variable : environment_variables()) {
    EXPECT_FALSE(variable.form.empty()) << variable.name;
    EXPECT_FALSE(variable.fallback.empty()) << variable.name;
    EXPECT_FALSE(variable.meaning.empty()) << variable.name;
  }
}

TEST(Environment, GoodValuesReachTheirFieldAndNoOther) {
  for (const Row& row : rows()) {
    for (const std::string& value : row.good) {
      const Result<Environment> environment = read({{row.name, value}});
      ASSERT_TRUE(environment.ok()) << environment.status().to_string();
      for (const Row& other : rows()) {
        EXPECT_EQ(other.field(*environment), other.name == row.name ? value : other.fallback)
            << other.name << " after " << row.name << "=" << value;
      }
    }
  }
}

TEST(Environment, BadValuesAreRefusedWithNameValueAndForm) {
  for (const Row& row : rows()) {
    for (const std::string& value : row.bad) {
      const Result<Environment> environment = read({{row.name, value}});
      ASSERT_FALSE(environment.ok()) << row.name << "=" << value;
      EXPECT_EQ(environment.status().code(), Code::kInvalidArgument);
      const std::string said = environment.status().text();
      EXPECT_NE(said.find(row.name + "=" + value), std::string::npos) << said;
      for (const Variable& variable : environment_variables()) {
        if (variable.name != row.name) continue;
        EXPECT_NE(said.find(variable.form), std::string::npos) << said;
      }
    }
  }
}

TEST(Environment, NothingSetAndEmptyValuesMeanTheDefaults) {
  Variables empty;
  for (const Variable& variable : environment_variables()) {
    empty.emplace(variable.name, "");
  }
  for (const Variables& variables : {Variables(), empty}) {
    const Result<Environment> environment = read(variables);
    ASSERT_TRUE(environment.ok()) << environment.status().to_string();
    for (const Row& row : rows()) EXPECT_EQ(row.field(*environment), row.fallback) << row.name;
  }
}

TEST(Environment, EachVariableIsLookedUpOnce) {
  std::map<std::string, int> lookups;
  ASSERT_TRUE(read_environment([&](const char* name) -> const char* {
                ++lookups[name];
                return nullptr;
              }).ok());
  EXPECT_EQ(lookups.size(), environment_variables().size());
  for (const auto& [name, times] : lookups) EXPECT_EQ(times, 1) << name;
}

}  // namespace
}  // namespace paceline
