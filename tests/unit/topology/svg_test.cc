#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "tests/unit/topology/many_hosts.h"
#include "topology/render/plain_text.h"
#include "topology/render/render.h"
#include "topology/render/svg_layout.h"

namespace paceline::topology {
namespace {

// What is drawn is rounded.
constexpr double kRounding = 0.01;

bool overlap(const Box& a, const Box& b) {
  return a.x + a.width > b.x + kRounding && b.x + b.width > a.x + kRounding &&
         a.y + a.height > b.y + kRounding && b.y + b.height > a.y + kRounding;
}

bool holds(const Box& outer, const Box& inner) {
  return inner.x >= outer.x && inner.y >= outer.y &&
         inner.x + inner.width <= outer.x + outer.width + kRounding &&
         inner.y + inner.height <= outer.y + outer.height + kRounding;
}

void each_box(const Box& box, const std::function<void(const Box&)>& see) {
  see(box);
  for (const Box& inside : box.inside) each_box(inside, see);
}

TEST(SvgLayout, BoxesBesideEachOtherDoNotOverlap) {
  for (const HostModel& host : many_hosts())
    each_box(layout_of(host), [](const Box& box) {
      for (const Box& a : box.inside)
        for (const Box& b : box.inside)
          EXPECT_FALSE(&a < &b && overlap(a, b)) << a.texts[0].text << " " << b.texts[0].text;
    });
}

TEST(SvgLayout, BoxesLieInsideOfWhatTheyStandIn) {
  for (const HostModel& host : many_hosts())
    each_box(layout_of(host), [](const Box& box) {
      for (const Box& inside : box.inside) EXPECT_TRUE(holds(box, inside));
    });
}

TEST(SvgLayout, TextFitsItsBoxAndStandsAboveOtherBoxes) {
  for (const HostModel& host : many_hosts())
    each_box(layout_of(host), [](const Box& box) {
      for (const BoxText& text : box.texts) {
        const double width =
            static_cast<double>(characters(text.text)) * text.size * kCharacterWidth;
        EXPECT_GE(text.x, box.x);
        EXPECT_LE(text.x + width, box.x + box.width) << text.text;
        EXPECT_GE(text.y - text.size, box.y) << text.text;
        EXPECT_LE(text.y, box.y + box.height) << text.text;
        for (const Box& inside : box.inside) EXPECT_LE(text.y, inside.y) << text.text;
      }
    });
}

// A node with 16 GPUs, each below a switch with two NICs.
TEST(SvgLayout, IsNoWiderThanAPage) {
  constexpr double kWidest = 1900;
  HostModel host = small_host();
  host.links.clear();
  for (int i = 0; i < 16; ++i) {
    const auto bridge = static_cast<int>(host.bridges.size());
    host.bridges.push_back({.kind = BridgeKind::kSwitch, .parent = 0});
    Gpu gpu = host.gpus.front();
    gpu.pci.bridge = bridge;
    host.gpus.push_back(gpu);
    for (int nic = 0; nic < 3; ++nic) {
      host.nics.push_back(host.nics.front());
      host.nics.back().pci.bridge = bridge;
    }
  }
  EXPECT_LT(layout_of(finish(std::move(host), 0).value()).width, kWidest);
}

TEST(SvgLayout, HasABoxForEachDevice) {
  int gpus = 0, nics = 0, nodes = 0;
  each_box(layout_of(eight_gpu_host()), [&](const Box& box) {
    gpus += box.kind == BoxKind::kGpu ? 1 : 0;
    nics += box.kind == BoxKind::kNic ? 1 : 0;
    nodes += box.kind == BoxKind::kNode ? 1 : 0;
  });
  EXPECT_EQ(gpus, 8);
  EXPECT_EQ(nics, 8);
  EXPECT_EQ(nodes, 4);
}

TEST(Svg, IsXmlWhateverNamesAre) {
  for (const HostModel& host : many_hosts()) {
    pugi::xml_document document;
    const std::string text = svg_text(host);
    EXPECT_TRUE(document.load_string(text.c_str())) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    EXPECT_STREQ(document.child("svg").attribute("version").value(), "1.1");
    EXPECT_FALSE(document.child("svg").child("script"));
  }
}

TEST(Svg, TellsLinksAndWarningsBelow) {
  HostModel host = eight_gpu_host();
  host.warnings = {{"1 < 2", 0}};
  const std::string text = svg_text(host);
  EXPECT_NE(text.find(">GPU links: NVLink, all pairs x18</text>"), std::string::npos) << text;
  EXPECT_NE(text.find(">warning: 1 &lt; 2</text>"), std::string::npos) << text;
}

TEST(Svg, HasATableOfLinksThatDiffer) {
  HostModel host = small_host();
  host.links.push_back({.kind = LinkKind::kXgmi, .gpu = 1, .peer = 2});
  const std::string text = svg_text(finish(std::move(host), 0).value());
  EXPECT_NE(text.find(">GPU links, NVLink and XGMI (+: number not known)</text>"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("GPU links:"), std::string::npos) << text;
  const auto count = [&](const std::string& cell) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(cell, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(">4</text>"), 2U) << "of each of the two";
  EXPECT_EQ(count(">+</text>"), 2U) << "no source states how many";
}

}  // namespace
}  // namespace paceline::topology
