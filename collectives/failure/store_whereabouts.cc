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
  if (std::optional<std::string> answer = store_->answer(*look.question)) {
    look.question.reset();
    look.seen = *std::move(answer);
  }
  return look.seen;
}

}  // namespace paceline
