// Ranks as threads of one process. With the argument `race` they also write one variable at once,
// which the thread sanitizer must report. Prints ok.
#include <array>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include <paceline/buffer.h>
#include <paceline/communicator.h>
#include <paceline/unique_id.h>

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kCount = 300'000;

int shared_by_mistake = 0;

bool train(const paceline::UniqueId& id, int rank, bool races) {
  paceline::Communicator comm = paceline::Communicator::init(id, rank, kRanks).value();
  const paceline::Buffer buffer = paceline::Buffer::allocate(kCount * sizeof(float)).value();
  float* const in_buffer = reinterpret_cast<float*>(buffer.data());
  std::vector<float> gradients(kCount), sums(kCount);
  for (int step = 0; step < 10; ++step) {
    if (races) ++shared_by_mistake;
    for (std::size_t i = 0; i < kCount; ++i) gradients[i] = in_buffer[i] = float(rank + step);
    paceline::Work first =
        comm.all_reduce_async(gradients.data(), sums.data(), kCount, paceline::DataType::kFloat32);
    paceline::Work second =
        comm.all_reduce_async(in_buffer, in_buffer, kCount, paceline::DataType::kFloat32);
    if (!first.wait().ok() || !second.wait().ok()) return false;
    const float expected = 2 * step + 1;
    if (sums.back() != expected || in_buffer[kCount - 1] != expected) return false;
    if (!comm.barrier().ok()) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  const bool races = count > 1 && std::string_view(words[1]) == "race";
  const paceline::UniqueId id = paceline::make_unique_id().value();
  std::array<bool, kRanks> right{};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] { right[rank] = train(id, rank, races); });
  for (std::thread& one : ranks) one.join();
  std::puts(right == std::array{true, true} ? "ok" : "wrong");
  return right == std::array{true, true} ? 0 : 1;
}
