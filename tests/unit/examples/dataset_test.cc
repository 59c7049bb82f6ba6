#include "examples/train_digits/dataset.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

namespace digits {
namespace {

std::string image_line(int ink, int label) {
  std::string line;
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) line += std::to_string(ink) + ",";
  return line + std::to_string(label);
}

class DatasetTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unlink(path_.c_str()); }

  paceline::Result<Dataset> load(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return load_dataset(path_);
  }
  std::string error_of(const std::string& content) { return load(content).status().text(); }

  std::string path_ = ::testing::TempDir() + "digits." + std::to_string(::getpid());
};

TEST_F(DatasetTest, ReadsTheDigitsThatComeWithTheExample) {
  const auto data = load_dataset(PACELINE_EXAMPLE_DATA);
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  EXPECT_EQ(data->size(), 1797u);
  const auto [lowest, highest] = std::minmax_element(data->pixels.begin(), data->pixels.end());
  EXPECT_EQ(*lowest, -1.0f);
  EXPECT_EQ(*highest, 1.0f);
  for (int label = 0; label < 10; ++label) {
    EXPECT_GE(std::count(data->labels.begin(), data->labels.end(), label), 174) << label;
  }
}

TEST_F(DatasetTest, ReadsPlainLinesWhateverTheirEnds) {
  const auto data = load(image_line(0, 7) + "\n" + image_line(8, 0) + "\r\n" + image_line(16, 9));
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  EXPECT_EQ(data->labels, (std::vector<std::uint8_t>{7, 0, 9}));
  EXPECT_EQ(data->image(0)[63], -1.0f);
  EXPECT_EQ(data->image(1)[0], 0.0f);
  EXPECT_EQ(data->image(2)[0], 1.0f);
}

TEST_F(DatasetTest, NamesTheLineAndTheReason) {
  const std::string good = image_line(3, 1) + "\n";
  const auto expect = [&](const std::string& bad, const std::string& reason) {
    EXPECT_EQ(error_of(good + bad + "\n" + good), path_ + ": line 2: " + reason);
  };
  expect("", "1 columns, not 65 (64 pixels and a label)");
  expect("0," + image_line(0, 1), "66 columns, not 65 (64 pixels and a label)");
  expect(image_line(17, 1), "column 1 is \"17\", not a number 0..16");
  expect(image_line(-1, 1), "column 1 is \"-1\", not a number 0..16");
  expect(image_line(0, 10), "column 65 is \"10\", not a number 0..9");
  expect(image_line(0, 1) + "x", "column 65 is \"1x\", not a number 0..9");
  expect(image_line(0, 1) + " ", "column 65 is \"1 \", not a number 0..9");
  expect(image_line(0, 1).substr(0, 126) + ",1", "column 64 is \"\", not a number 0..16");
  expect(std::string(600, '1'), "longer than 510 characters, or not text");
  expect(std::string(3, '\0'), "longer than 510 characters, or not text");
}

TEST_F(DatasetTest, RefusesWhatHoldsNoImages) {
  EXPECT_EQ(error_of(""), path_ + ": no image in it");
  EXPECT_NE(load_dataset("/nonexistent/digits").status().text().find("cannot open /nonexistent"),
            std::string::npos);
  EXPECT_NE(load_dataset("/").status().text().find("Is a directory"), std::string::npos);
}

TEST_F(DatasetTest, SaysThatAGzipFileIsCutOff) {
  std::string whole;
  for (int i = 0; i < 5000; ++i) whole += image_line(i % 17, i % 10) + "\n";
  const gzFile file = gzopen(path_.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, whole.data(), static_cast<unsigned>(whole.size())),
            static_cast<int>(whole.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  ASSERT_EQ(load_dataset(path_)->size(), 5000u);
  std::ifstream in(path_, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(in), {}};
  for (const std::size_t left : {packed.size() / 2, packed.size() - 9}) {
    const std::string text = error_of(packed.substr(0, left));
    EXPECT_NE(text.find("unexpected end of file"), std::string::npos) << left << ": " << text;
  }
}

TEST(Split, HoldsOutAFifthAndLosesNothing) {
  for (const std::size_t count : {0u, 1u, 4u, 5u, 1797u}) {
    Random random(1);
    Random same(1);
    const Split split = split_fifth(count, random);
    EXPECT_EQ(split.held_out.size(), count / 5);
    EXPECT_EQ(split.held_out, split_fifth(count, same).held_out);
    std::vector<std::uint32_t> all = split.train;
    all.insert(all.end(), split.held_out.begin(), split.held_out.end());
    std::sort(all.begin(), all.end());
    std::vector<std::uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 0u);
    EXPECT_EQ(all, expected);
  }
}

TEST(Share, CoversTheSamplesInOrderAndEvenly) {
  std::vector<std::uint32_t> samples(97);
  std::iota(samples.begin(), samples.end(), 0u);
  for (const std::size_t count : {0u, 1u, 5u, 96u, 97u}) {
    for (const int ranks : {1, 2, 3, 7, 120}) {
      std::vector<std::uint32_t> joined;
      for (int rank = 0; rank < ranks; ++rank) {
        const Samples share = share_of(Samples(samples).first(count), rank, ranks);
        EXPECT_LE(share.size(), count / static_cast<std::size_t>(ranks) + 1);
        joined.insert(joined.end(), share.begin(), share.end());
      }
      EXPECT_TRUE(std::ranges::equal(joined, Samples(samples).first(count))) << count << ranks;
    }
  }
}

}  // namespace
}  // namespace digits
