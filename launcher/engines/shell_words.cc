#include "launcher/engines/shell_words.h"

#include <optional>

namespace paceline::launcher {

Result<std::vector<std::string>> split_words(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\\' && quote != '\'' && i + 1 < text.size()) {
      word = word.value_or("") + text[++i];
    } else if (quote != '\0' ? letter == quote : letter == '\'' || letter == '"') {
      quote = quote == '\0' ? letter : '\0';
      word = word.value_or("");
    } else if (quote == '\0' && kBlank.find(letter) != std::string_view::npos) {
      if (word) words.push_back(*word);
      word.reset();
    } else {
      word = word.value_or("") + letter;
    }
  }
  if (quote != '\0')
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  std::string("there is no closing ") + quote + " in: " + std::string(text));
  if (word) words.push_back(*word);
  return words;
}

std::string quote_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'')
      quoted += "'\\''";
    else
      quoted += letter;
  }
  return quoted + "'";
}

}  // namespace paceline::launcher
