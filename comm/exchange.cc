#include "comm/exchange.h"

#include <optional>
#include <utility>

#include "comm/base/try.h"

namespace paceline {

Result<std::vector<std::string>> PartExchange::all(const ExchangeTopic& topic,
                                                   const std::string& own, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const auto texts, whole_.all(topic, own, deadline));
  std::vector<std::string> theirs;
  for (const int member : members_) theirs.push_back(texts[static_cast<std::size_t>(member)]);
  return theirs;
}

Status PartExchange::listen(const ExchangeTopic& topic, Deadline deadline) {
  return whole_.all(topic, "", deadline).status();
}

StoreExchange::StoreExchange(StoreClient& store, const Group& group, std::vector<int> members)
    : store_(store), group_(group), members_(std::move(members)) {
  if (!members_.empty()) return;
  for (int rank = 0; rank < group.size(); ++rank) members_.push_back(rank);
}

std::string StoreExchange::key(const ExchangeTopic& topic, int rank) const {
  return topic.key + "/" + group_.name + "/" + std::to_string(group_.epoch) + "/" +
         std::to_string(rank);
}

Status StoreExchange::late(const ExchangeTopic& topic, int rank) const {
  const std::string& host = group_.members[static_cast<std::size_t>(rank)].host;
  return Status(Code::kTimeout, Scope::kGroup,
                "rank " + std::to_string(rank) + " on " + host + " has not " + topic.task +
                    " before the timeout",
                {.rank = rank, .host = host});
}

Result<std::vector<std::string>> StoreExchange::all(const ExchangeTopic& topic,
                                                    const std::string& own, Deadline deadline) {
  std::vector<Awaited> awaited;
  for (const int rank : members_) awaited.push_back({.key = key(topic, rank), .setter = rank});
  PACELINE_TRY_ASSIGN(auto answers,
                      store_.exchange(key(topic, group_.rank), own, awaited, deadline));
  std::vector<std::string> texts;
  for (std::optional<std::string>& answer : answers) {
    if (!answer) return late(topic, members_[texts.size()]);
    texts.push_back(*std::move(answer));
  }
  return texts;
}

}  // namespace paceline
