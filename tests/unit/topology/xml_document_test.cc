#include "topology/read/xml_document.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

TEST(XmlDocuments, SayInWhichLineAMistakeIs) {
  const auto broken = XmlDocument::parse({"m.xml", "<a>\n<b>\n</a>\n"});
  ASSERT_FALSE(broken.ok());
  EXPECT_TRUE(broken.status().text().starts_with("m.xml:3: invalid XML: "))
      << broken.status().text();
  EXPECT_TRUE(XmlDocument::parse({"m.xml", ""}).status().text().starts_with("m.xml:1: "));
}

TEST(XmlDocuments, KnowTheLinesOfElementsAndNumbersInAttributes) {
  const auto document =
      XmlDocument::parse({"m.xml", "<a>\n  <b x=\"12\" y=\"0x1f\"\n z=\"1e3\" e=\"\"/></a>"})
          .value();
  const pugi::xml_node b = document->root().child("b");
  EXPECT_EQ(document->line_of(b), 2U);
  EXPECT_EQ(document->number(b, "x", 7).value(), 12U);
  EXPECT_EQ(document->number(b, "y", 7).value(), 31U);
  EXPECT_EQ(document->number(b, "missing", 7).value(), 7U);
  EXPECT_EQ(document->number(b, "z", 7).status().text(), "m.xml:2: z=\"1e3\" is not a number");
  EXPECT_FALSE(document->number(b, "e", 7).ok());
}

TEST(XmlDocuments, AreNotNestedWithoutEnd) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  for (int i = 0; i < 100000; ++i) deep += "</a>";
  const auto document = XmlDocument::parse({"m.xml", deep});
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.status().text(), "m.xml:1: elements are nested deeper than 64 levels");
}

}  // namespace
}  // namespace paceline::topology
