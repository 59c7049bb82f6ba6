#include "comm/base/net_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

Status malformed(std::string_view word, const char* why) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("'").append(printable(word.substr(0, 64))).append("' ").append(why));
}

bool looks_like_address(std::string_view word) {
  return word.find_first_not_of("0123456789.") == word.npos || word.find(':') != word.npos;
}

bool is_name(std::string_view word) {
  return std::none_of(word.begin(), word.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '/'; });
}

}  // namespace

Result<NetChoice::Word> NetChoice::parse_word(std::string_view word, NetDialect dialect) {
  Word parsed;
  const bool knows_addresses = dialect == NetDialect::kPaceline;
  if (knows_addresses && word.empty())
    return malformed(word, "is empty: name an interface, an address or a network");
  const std::size_t slash = knows_addresses ? word.find('/') : word.npos;
  if (slash != word.npos || (knows_addresses && looks_like_address(word))) {
    const std::optional<IpAddress> address = IpAddress::parse(word.substr(0, slash));
    if (!address) return malformed(word, "is not an address or network like 10.0.0.0/8");
    const std::optional<int> bits =
        slash == word.npos ? address->bits() : parse_number<int>(word.substr(slash + 1));
    if (!bits || *bits < 0 || *bits > address->bits())
      return malformed(word, "has a prefix length that is too long for its address");
    parsed.network = address->network(*bits);
    parsed.bits = *bits;
    return parsed;
  }
  if (knows_addresses && (word.size() > kMaxNameBytes || !is_name(word)))
    return malformed(word, "is not a name of an interface");
  parsed.name = word;
  return parsed;
}

Result<NetChoice> NetChoice::parse(std::string_view text, NetDialect dialect) {
  NetChoice choice;
  Word sticky{.whole = dialect == NetDialect::kGloo};
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    for (; !word.empty() && dialect != NetDialect::kGloo; word.remove_prefix(1)) {
      if (word.front() == '^')
        sticky.excludes = true;
      else if (word.front() == '=')
        sticky.whole = true;
      else
        break;
    }
    if (word.empty() && dialect != NetDialect::kPaceline) continue;
    PACELINE_TRY_ASSIGN(Word parsed, parse_word(word, dialect));
    parsed.excludes = sticky.excludes;
    parsed.whole = sticky.whole;
    choice.words_.push_back(std::move(parsed));
    if (choice.words_.size() > kMaxWords)
      return malformed(word, "exceeds the max number of entries");
  }
  return choice;
}

Result<NetChoice> NetChoice::choose(const Variables& variables) {
  const auto read = [](std::string_view name, std::string_view value,
                       NetDialect dialect) -> Result<NetChoice> {
    const std::string text = std::string(name).append("=").append(printable(value));
    Result<NetChoice> choice = parse(value, dialect);
    if (!choice.ok()) return choice.status().with_context(text);
    choice->text_ = text;
    return choice;
  };
  if (!variables.paceline.empty())
    return read("PACELINE_NET", variables.paceline, NetDialect::kPaceline);
  if (!variables.nccl.empty()) return read("NCCL_SOCKET_IFNAME", variables.nccl, NetDialect::kNccl);
  if (!variables.gloo.empty()) return read("GLOO_SOCKET_IFNAME", variables.gloo, NetDialect::kGloo);
  return NetChoice();
}

bool NetChoice::matches(const Word& word, std::string_view interface, const IpAddress& address) {
  if (word.name.empty())
    return address.is_v6() == word.network.is_v6() && address.network(word.bits) == word.network;
  return word.whole ? interface == word.name : interface.starts_with(word.name);
}

bool NetChoice::takes(std::string_view interface, const IpAddress& address) const {
  bool asked = false;
  bool taken = false;
  for (const Word& word : words_) {
    const bool is_meant = matches(word, interface, address);
    if (word.excludes && is_meant) return false;
    if (word.excludes) continue;
    asked = true;
    taken |= is_meant;
  }
  return taken || !asked;
}

}  // namespace paceline
