// Whereabouts as the launcher's agent knows them: it reads the flight rings of its ranks, and the
// store hands its answers out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "collectives/failure/whereabouts.h"
#include "comm/store_client.h"

namespace paceline {

class StoreWhereabouts final : public Whereabouts {
 public:
  explicit StoreWhereabouts(std::unique_ptr<StoreClient> store) : store_(std::move(store)) {}

  void look_for(int rank) override;
  std::string found(int rank) override;

 private:
  struct Look {
    std::optional<std::uint32_t> question;  // whose answer may still come
    std::string seen;
  };

  const std::unique_ptr<StoreClient> store_;
  std::map<int, Look> looks_;  // by rank
};

}  // namespace paceline
