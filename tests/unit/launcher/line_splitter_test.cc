#include "launcher/agent/line_splitter.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Pieces = std::vector<std::pair<std::string, messages::Ending>>;

Pieces split(const std::vector<std::string>& chunks, const LineSplitter::Options& options = {}) {
  Pieces pieces;
  const auto sink = [&pieces](std::string_view text, messages::Ending ending) {
    pieces.emplace_back(text, ending);
  };
  LineSplitter splitter(options);
  for (const std::string& chunk : chunks) splitter.feed(chunk, sink);
  splitter.finish(sink);
  return pieces;
}

TEST(LineSplitter, WholeLinesStayTogether) {
  EXPECT_EQ(split({}), Pieces());
  EXPECT_EQ(split({""}), Pieces());
  EXPECT_EQ(split({"a\n\nbc\n"}), (Pieces{{"a\n\nbc\n", messages::LINES}}));
  EXPECT_EQ(split({"a", "b\nc", "d\n"}),
            (Pieces{{"ab\n", messages::LINES}, {"cd\n", messages::LINES}}));
}

TEST(LineSplitter, TheLastLineMayLackItsNewline) {
  EXPECT_EQ(split({"a\nb"}), (Pieces{{"a\n", messages::LINES}, {"b", messages::CUT}}));
}

TEST(LineSplitter, AReturnBeginsTheLineAnew) {
  EXPECT_EQ(split({"10%\r20%\rdone\n"}), (Pieces{{"done\n", messages::LINES}}));
  EXPECT_EQ(split({"10%\r", "20%\r", "\r", "done\n"}), (Pieces{{"done\n", messages::LINES}}));
  EXPECT_EQ(split({"10%\r20%\r"}), (Pieces{{"20%", messages::CUT}}));
  EXPECT_EQ(split({"\r\r"}), Pieces());
}

TEST(LineSplitter, AReturnBeforeTheNewlineIsKept) {
  EXPECT_EQ(split({"a\r\nb\r\n"}), (Pieces{{"a\r\nb\r\n", messages::LINES}}));
  EXPECT_EQ(split({"a\r", "\n"}), (Pieces{{"a\r\n", messages::LINES}}));
}

TEST(LineSplitter, TransientLinesWhereTheyAreShown) {
  const LineSplitter::Options options{.transient = true};
  EXPECT_EQ(split({"10%\r", "20%", "\r", "done\n"}, options),
            (Pieces{{"10%", messages::TRANSIENT},
                    {"20%", messages::TRANSIENT},
                    {"done\n", messages::LINES}}));
  EXPECT_EQ(split({"1\r2\r3\r"}, options),
            (Pieces{{"3", messages::TRANSIENT}, {"3", messages::CUT}}));
}

TEST(LineSplitter, ALineThatIsTooLongIsCut) {
  const LineSplitter::Options options{.longest_line_bytes = 4};
  EXPECT_EQ(split({"x\nabcdefghij\n"}, options), (Pieces{{"x\n", messages::LINES},
                                                         {"abcd", messages::CUT},
                                                         {"efgh", messages::CUT},
                                                         {"ij\n", messages::LINES}}));
  EXPECT_EQ(split({"abcd\n"}, options), (Pieces{{"abcd\n", messages::LINES}}));
  EXPECT_EQ(split({"ab", "cde"}, options), (Pieces{{"abcd", messages::CUT}, {"e", messages::CUT}}));
}

// However the text is chopped, the lines are the same.
TEST(LineSplitter, ChunksDoNotMatter) {
  const std::string text = "one\ntwo\r\n\nthree\r30%\r31%\nfour\r\r\nrest\r";
  const auto whole_text = [](const Pieces& pieces) {
    std::string all;
    for (const auto& [piece, ending] : pieces) all += piece;
    return all;
  };
  const std::string expected = whole_text(split({text}));
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> chunks;
    for (std::size_t at = 0; at < text.size(); at += size) chunks.push_back(text.substr(at, size));
    EXPECT_EQ(whole_text(split(chunks)), expected) << "chunks of " << size;
  }
}

class Prompts : public ::testing::Test {
 protected:
  void feed(const std::string& text) { splitter_.feed(text, sink_); }
  Pieces shown() { return std::exchange(pieces_, {}); }

  Pieces pieces_;
  const std::function<void(std::string_view, messages::Ending)> sink_ =
      [this](std::string_view text, messages::Ending ending) {
        pieces_.emplace_back(text, ending);
      };
  LineSplitter splitter_{LineSplitter::Options{}};
};

TEST_F(Prompts, ALineThatHasBegunIsShownOnceAndStays) {
  splitter_.show_begun(sink_);
  EXPECT_EQ(shown(), Pieces());
  feed("a\nname?");
  splitter_.show_begun(sink_);
  splitter_.show_begun(sink_);
  EXPECT_EQ(shown(), (Pieces{{"a\n", messages::LINES}, {"name?", messages::PROMPT}}));
  feed(" ");
  splitter_.show_begun(sink_);
  EXPECT_EQ(shown(), (Pieces{{"name? ", messages::PROMPT}}));
  feed("end\n");
  EXPECT_EQ(shown(), (Pieces{{"name? end\n", messages::LINES}}));
}

TEST_F(Prompts, WhatItsUserHasEndedIsALine) {
  feed("name? ");
  splitter_.show_begun(sink_);
  feed("so");
  splitter_.end_shown();
  feed(" it is\n");
  EXPECT_EQ(shown(), (Pieces{{"name? ", messages::PROMPT}, {"so it is\n", messages::LINES}}));
  feed("not shown");
  splitter_.end_shown();
  splitter_.finish(sink_);
  EXPECT_EQ(shown(), (Pieces{{"not shown", messages::CUT}}));
}

TEST_F(Prompts, AfterAnAnswerToATransientLineThereIsAPrompt) {
  feed("\rContinue? ");
  splitter_.show_begun(sink_);
  EXPECT_EQ(shown(), (Pieces{{"Continue? ", messages::TRANSIENT}}));
  splitter_.end_shown();
  feed("Name: ");
  splitter_.show_begun(sink_);
  EXPECT_EQ(shown(), (Pieces{{"Name: ", messages::PROMPT}}));
}

TEST_F(Prompts, AProgressBarTakesTheLineAnew) {
  feed("\r10%");
  splitter_.show_begun(sink_);
  feed("\r20%");
  splitter_.show_begun(sink_);
  EXPECT_EQ(shown(), (Pieces{{"10%", messages::TRANSIENT}, {"20%", messages::TRANSIENT}}));
}

}  // namespace
}  // namespace paceline::launcher
