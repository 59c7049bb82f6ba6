#include "collectives/failure/store_whereabouts.h"

#include <utility>

#include "comm/store_keys.h"

namespace paceline {

void StoreWhereabouts::look_for(int rank) {
  (void)found(rank);  // takes the answer to an earlier question
  Look& look = looks_[rank];
  if (!look.question) look.question = store_->ask(flight_key(rank));
}

std::string StoreWhereabouts::found(int rank) {
  Look& look = looks_[rank];
  if (!look.question) return look.seen;
  Result<std::optional<std::string>> answer = store_->answer(*look.question);
  if (answer.ok() && !answer->has_value()) return look.seen;
  look.question.reset();  // where no answer will come, the next look asks anew
  if (answer.ok()) look.seen = **std::move(answer);
  return look.seen;
}

}  // namespace paceline
