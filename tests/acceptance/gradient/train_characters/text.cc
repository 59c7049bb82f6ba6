#include "tests/acceptance/gradient/train_characters/text.h"

#include <array>

#include "comm/base/random.h"

namespace characters {
namespace {

constexpr std::uint64_t kSeed = 20;
constexpr std::size_t kWords = 300, kFollowers = 6;
constexpr std::uint8_t kBlank = kLetters;

struct Word {
  Text letters;
  std::array<std::size_t, kFollowers> followers{};
};

// Short words are as likely as long ones; early letters are likelier than late ones.
std::vector<Word> make_vocabulary(paceline::Random& random) {
  std::vector<Word> words(kWords);
  for (Word& word : words) {
    for (std::size_t left = 2 + random.below(7); left > 0; --left)
      word.letters.push_back(static_cast<std::uint8_t>(random.below(1 + random.below(kLetters))));
    for (std::size_t& follower : word.followers) follower = random.below(kWords);
  }
  return words;
}

}  // namespace

Text make_text(std::size_t count) {
  paceline::Random random(kSeed);
  const std::vector<Word> words = make_vocabulary(random);
  Text text;
  for (std::size_t word = 0; text.size() < count;) {
    text.insert(text.end(), words[word].letters.begin(), words[word].letters.end());
    text.push_back(kBlank);
    word = words[word].followers[random.below(1 + random.below(kFollowers))];
  }
  text.resize(count);
  return text;
}

}  // namespace characters
