#include "launcher/tools/topo/topo_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

std::string topo_refusal(const Words& words) { return refusal_of(parse_topo(words)); }

TEST(TopoOptions, AskForThisMachineAsATreeUnlessToldOtherwise) {
  const TopoRequest request = parse_topo({}).value();
  EXPECT_TRUE(request.inputs.empty());
  EXPECT_EQ(request.format, TopoFormat::kTree);
  EXPECT_EQ(request.output_file, "");
}

TEST(TopoOptions, TakeInputsInTheirOrder) {
  const std::vector<std::string> words = {"--input",   "a.xml",    "--input=b", "--format",
                                          "hwloc-xml", "--output", "c.xml"};
  const TopoRequest request = parse_topo(words).value();
  EXPECT_EQ(request.inputs, (std::vector<std::string>{"a.xml", "b"}));
  EXPECT_EQ(request.format, TopoFormat::kHwlocXml);
  EXPECT_EQ(request.output_file, "c.xml");
}

TEST(TopoOptions, NameWhatIsWrong) {
  EXPECT_EQ(topo_refusal({"machine.xml"}),
            "'machine.xml' is not an option; use --input for a description");
  EXPECT_EQ(
      topo_refusal({"--format", "jsno"}),
      "--format: 'jsno' is not one of tree, json, dot, svg, nccl-xml, hwloc-xml and matrix; did "
      "you mean 'json'?");
  EXPECT_EQ(topo_refusal({"--ranks", "0"}).substr(0, 9), "--ranks: ");
  EXPECT_EQ(topo_refusal({"--ranks", "2", "--format", "svg"}),
            "--ranks needs --format json or tree");
  EXPECT_EQ(topo_refusal({"--inptu", "x"}),
            "'--inptu' is not an option of paceline topo; did you mean '--input'?");
}

}  // namespace
}  // namespace paceline::launcher
