#include "topology/read/model_json.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/many_hosts.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

std::string model_error(const std::string& text) {
  return read_model_json({"m.json", text}).status().text();
}

// The error of a good file in which this has been replaced, where it comes first.
std::string spoilt(const std::string& what, const std::string& by) {
  std::string text = model_json_text(finished_small_host());
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return model_error(text.replace(at, what.size(), by));
}

std::string spoilt_model(void (*spoil)(HostModel&)) {
  HostModel host = finished_small_host();
  spoil(host);
  return model_error(model_json_text(host));
}

TEST(ModelJson, IsReadBackAsItWas) {
  std::vector<HostModel> hosts = many_hosts();
  HostModel full = eight_gpu_host();
  full.gpus[3].uuid = {std::string("GPU-1"), 1};
  full.gpus[4].parts = 2;
  full.nics[2].guid = {std::string("ec0d:9a03:0067:fdd4"), kNobody};
  full.nics[1].kind = NicKind::kSlingshot;
  full.nics[0].port = 2;
  full.nics[0].is_up = {false, 0};
  full.nics[0].gid = {Gid{.index = 3, .text = "fe80::1"}, 0};
  full.links.push_back({.kind = LinkKind::kXe,
                        .gpu = 7,
                        .end = LinkEnd::kPackage,
                        .peer = 1,
                        .mb_per_s = {26500, 1}});
  full.withheld = CpuSet::parse("200-203").value();
  full.warnings = {{"one", 1}, {"two", kNobody}};
  hosts.push_back(full);
  for (const HostModel& host : hosts) {
    if (host.name.find('\xff') != std::string::npos) continue;  // JSON is UTF-8
    const auto read = read_model_json({"m.json", model_json_text(host)});
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_TRUE(same_machine(*read, host)) << model_json_text(*read);
    EXPECT_EQ(model_json_text(*read), model_json_text(host)) << "who said it, and warnings";
  }
}

TEST(ModelJson, WritesEverythingInAFixedOrder) {
  const std::string text = model_json_text(finished_small_host());
  EXPECT_TRUE(
      text.starts_with("{\n  \"version\": 1,\n  \"name\": \"small\",\n  \"product\": \"\",\n"))
      << text;
  EXPECT_NE(text.find(R"(      "kind": "switch",
      "bus": {
        "value": "0000:02:00.0",
        "from": 0
      },
      "parent": 0,
      "mb_per_s": {
        "value": 15754,
        "from": 0
      }
)"),
            std::string::npos)
      << text;
}

TEST(ModelJson, WarningsAreNotToldTwice) {
  HostModel host = small_host();
  host.numa_nodes.resize(1);
  host = finish(std::move(host), 0).value();
  ASSERT_EQ(host.warnings.size(), 1U);
  EXPECT_EQ(read_model_json({"m.json", model_json_text(host)})->warnings.size(), 1U);
}

TEST(ModelJson, AnEditCanRaiseAWarning) {
  const std::string text = model_json_text(finished_small_host());
  std::string cut = text;
  const std::string cpus = "\"kind\": \"ordinary\",\n      \"cpus\": \"4-7\"";
  ASSERT_NE(cut.find(cpus), std::string::npos);
  cut.replace(cut.find(cpus), cpus.size(), "\"kind\": \"ordinary\",\n      \"cpus\": \"4-6\"");
  const auto read = read_model_json({"m.json", cut});
  ASSERT_TRUE(read.ok()) << read.status().text();
  ASSERT_EQ(read->warnings.size(), 1U);
  EXPECT_EQ(read->warnings[0].source, kNobody);
}

TEST(ModelJson, WhatIsNoJsonHasALine) {
  EXPECT_EQ(model_error(""), "m.json:1: invalid JSON: unexpected end");
  EXPECT_EQ(model_error("{\n\"a\": 1,\n"), "m.json:3: invalid JSON: unexpected end");
  EXPECT_EQ(model_error("{\n\"a\": 1,\n\"b\" 2}"), "m.json:3: invalid JSON from here on");
  EXPECT_EQ(model_error("{\"a\": \"\xff\"}"), "m.json:1: invalid JSON from here on");
  EXPECT_EQ(model_error("{\"version\": 1e999}"), "m.json: a number is out of range");
  EXPECT_EQ(model_error("{\"a\": {\"b\": 1, \"b\": 2}}"), "m.json: key b occurs twice");
}

TEST(ModelJson, IsNotNestedWithoutEnd) {
  const std::string deep(1000000, '[');
  EXPECT_EQ(model_error("\n" + deep), "m.json:2: values are nested deeper than 64 levels");
  EXPECT_EQ(model_error("\"" + deep + "\\\"" + deep + "\""), "m.json: must be an object");
}

// The parser's own callback looks at the list anew for each object in it: that took minutes.
TEST(ModelJson, ManyObjectsTakeNoLongerEachThanAFew) {
  std::string many = "[{}";
  for (int i = 0; i < 500000; ++i) many += ",{}";
  EXPECT_EQ(model_error(many + "]"), "m.json: must be an object");
}

TEST(ModelJson, RefusesVersionsThatItDoesNotKnow) {
  EXPECT_EQ(model_error("[]"), "m.json: must be an object");
  EXPECT_EQ(model_error("{}"), "m.json: version: is missing");
  EXPECT_EQ(spoilt("\"version\": 1", "\"version\": 2"),
            "m.json: version: must be 1, the only one that is known");
}

TEST(ModelJson, RefusesKeysThatNobodyKnowsAndMissesThoseThatAreGone) {
  EXPECT_EQ(spoilt("\"product\"", "\"produkt\""),
            "m.json: produkt: unknown key; known keys are version, name, product, architecture, "
            "processor, sources, warnings, cpus, withheld, packages, numa_nodes, caches, cores, "
            "bridges, gpus, "
            "nics, links and stated");
  EXPECT_EQ(spoilt("\"parts\": 1,", ""), "m.json: gpus[0].parts: is missing");
  EXPECT_EQ(spoilt("\"from\": 0", "\"form\": 0"),
            "m.json: bridges[0].near.form: unknown key; known keys are value and from");
  EXPECT_EQ(spoilt("\"value\": \"0000:02:00.0\",", ""), "m.json: bridges[1].bus.value: is missing");
}

TEST(ModelJson, RefusesWrongTypes) {
  EXPECT_EQ(spoilt("\"name\": \"small\"", "\"name\": 1"), "m.json: name: must be a text");
  EXPECT_EQ(spoilt("\"warnings\": []", "\"warnings\": {}"), "m.json: warnings: must be a list");
  EXPECT_EQ(spoilt("\"warnings\": []", "\"warnings\": [1]"),
            "m.json: warnings[0]: must be an object");
  EXPECT_EQ(spoilt("\"memory_bytes\": 64", "\"memory_bytes\": 6.4"),
            "m.json: numa_nodes[0].memory_bytes: must be a whole number");
  EXPECT_EQ(spoilt("\"has_rdma\": true", "\"has_rdma\": \"yes\""),
            "m.json: nics[0].has_rdma: must be true or false");
}

TEST(ModelJson, RefusesWordsAndNumbersThatAreNone) {
  EXPECT_EQ(spoilt("\"kind\": \"switch\"", "\"kind\": \"root\""),
            "m.json: bridges[1].kind: \"root\" is not one of host and switch");
  EXPECT_EQ(spoilt("\"cpus\": \"0-7\"", "\"cpus\": \"0-x\\n\""),
            "m.json: cpus: \"0-x?\" is not a list of CPUs");
  EXPECT_EQ(spoilt("0000:02:00.0", "0000:02"),
            "m.json: bridges[1].bus.value: \"0000:02\" is not a PCI address");
  EXPECT_EQ(spoilt("0x10de", "10de"),
            "m.json: gpus[0].pci.vendor: \"10de\" is not a PCI ID like 0x10de");
  EXPECT_EQ(spoilt("\"count\": 4", "\"count\": 1025"),
            "m.json: links[0].count: 1025 is out of range");
  EXPECT_EQ(spoilt("\"count\": 4", "\"count\": -4"), "m.json: links[0].count: -4 is out of range");
  EXPECT_EQ(spoilt("\"count\": 4", "\"count\": 2147483648"),
            "m.json: links[0].count: 2147483648 is out of range");
  EXPECT_EQ(spoilt("\"parts\": 1", "\"parts\": 0"), "m.json: gpus[0].parts: must be 1 or more");
  EXPECT_EQ(spoilt("\"number\": 1,\n      \"kind\"", "\"number\": 65536,\n      \"kind\""),
            "m.json: numa_nodes[1].number: 65536 is out of range");
}

TEST(ModelJson, RefusesPlacesThatLeadNowhere) {
  EXPECT_EQ(spoilt("\"bridge\": 1", "\"bridge\": 4"),
            "m.json: gpus[0].pci.bridge: 4 is out of range");
  EXPECT_EQ(spoilt("\"from\": 0", "\"from\": 1"),
            "m.json: bridges[0].near.from: there is no source 1");
  EXPECT_EQ(spoilt("\"parent\": 0", "\"parent\": 1"),
            "m.json: bridges[1].parent: a parent must come before its children");
  EXPECT_EQ(spoilt("\"parent\": 0", "\"parent\": null"),
            "m.json: bridges[1].parent: must not be null");
  EXPECT_EQ(spoilt("\"parent\": null", "\"parent\": 1"),
            "m.json: bridges[0].parent: must be null for a host bridge");
  EXPECT_EQ(spoilt("\"peer\": 1", "\"peer\": 3"), "m.json: links[0].peer: 3 is out of range");
  EXPECT_EQ(spoilt("\"end\": \"GPU\"", "\"end\": \"switch\""),
            "m.json: links[0].peer: must be null for a switch");
  EXPECT_EQ(spoilt_model([](HostModel& host) {
              host.stated = {{.a = {DeviceKind::kGpu, 0}, .b = {DeviceKind::kNic, 2}}};
            }),
            "m.json: stated[0].b.place: 2 is out of range");
  EXPECT_EQ(spoilt_model([](HostModel& host) { host.caches = {{.level = 0}}; }),
            "m.json: caches[0].level: must be 1 or more");
  EXPECT_EQ(spoilt_model([](HostModel& host) { host.caches = {{.level = 10}}; }),
            "m.json: caches[0].level: 10 is out of range");
  EXPECT_EQ(spoilt_model([](HostModel& host) { host = HostModel(); }),
            "m.json: no CPU, GPU or NIC is described");
}

TEST(ModelJson, RefusesMachinesThatAreTooLarge) {
  EXPECT_EQ(spoilt_model([](HostModel& host) { host.gpus.resize(1025); }),
            "m.json: gpus: has 1025 entries, max 1024");
  EXPECT_EQ(spoilt_model([](HostModel& host) {
              for (int i = 0; i < 65; ++i)
                host.bridges.push_back(
                    {.kind = BridgeKind::kSwitch,
                     .parent = i == 0 ? 0 : static_cast<int>(host.bridges.size()) - 1});
            }),
            "m.json: bridges[68].parent: the bridge has more than 64 bridges above it");
}

}  // namespace
}  // namespace paceline::topology
