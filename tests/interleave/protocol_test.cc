// The flag protocol of the direct shared-memory backend, in every order of 2 and 3 ranks' steps and
// with every value that the memory model lets them load. The rings are shorter than the backend's,
// so that a few operations go round them.
#include "collectives/backend/shm/protocol.h"

#include <iostream>

#include <gtest/gtest.h>

#include "tests/interleave/protocol_model.h"
#include "tests/interleave/search.h"

namespace paceline::testing {
namespace {

using shm::Flow;
using shm::Form;

constexpr std::size_t kMostStates = 500'000;

Form exchange() { return {}; }
Form gathering() { return {.gathered = true}; }
Form broadcast(int root, std::uint64_t chunks = 0) {
  return {.everybody = false,
          .root = root,
          .chunks = chunks,
          .flow = Flow::kFromRoot,
          .for_all = false};
}
Form all_reduce(std::uint64_t chunks) { return {.chunks = chunks}; }
// Where ranks share CPUs.
Form gathered_all_reduce(std::uint64_t chunks) { return {.chunks = chunks, .gathered = true}; }
Form gathered_all_to_all(std::uint64_t chunks) {
  return {.chunks = chunks, .gathered = true, .flow = Flow::kToEach, .for_all = false};
}
Form all_to_all(std::uint64_t chunks) {
  return {.chunks = chunks, .flow = Flow::kToEach, .for_all = false};
}
// One that all come to.
Form long_broadcast(int root, std::uint64_t chunks) {
  return {.root = root, .chunks = chunks, .flow = Flow::kFromRoot, .for_all = false};
}
// Where ranks share CPUs.
Form gathered_all_gather(std::uint64_t chunks) {
  return {.chunks = chunks, .gathered = true, .flow = Flow::kToEach};
}
Form gathered_broadcast(int root, std::uint64_t chunks) {
  return {.root = root, .chunks = chunks, .gathered = true, .flow = Flow::kFromRoot};
}

using Short = ModelAccess<2, 1>;
using Long = ModelAccess<2, 2>;

template <class Access>
SearchResult try_all(int ranks, const std::vector<Form>& script, bool releases = true) {
  const State<Access> first(std::vector(static_cast<std::size_t>(ranks), script), releases);
  SearchResult result = search(first, kMostStates);
  std::cout << ranks << " ranks, " << script.size() << " operations: " << result.states
            << " states\n";
  return result;
}

template <class Access = Short>
void expect_right(int ranks, const std::vector<Form>& script) {
  const SearchResult result = try_all<Access>(ranks, script);
  EXPECT_EQ(result.fault, "");
  EXPECT_TRUE(result.complete);
}

TEST(FlagProtocol, ShortOperationsOfTwo) {
  expect_right(2, {exchange(), exchange(), exchange(), exchange()});
  expect_right(2, {broadcast(0), broadcast(0), broadcast(0), broadcast(1), exchange()});
  expect_right(2, {broadcast(1), exchange(), broadcast(1), broadcast(1), broadcast(0)});
  expect_right(2, {exchange(), broadcast(0), exchange(), broadcast(0), exchange()});
}

TEST(FlagProtocol, ShortOperationsOfThree) {
  expect_right(3, {exchange(), exchange(), exchange()});
  expect_right(3, {broadcast(0), broadcast(1), broadcast(0), exchange()});
}

TEST(FlagProtocol, GatheredOperationsOfTwo) {
  expect_right(2, {gathering(), gathering(), gathering(), gathering()});
  expect_right(2, {gathering(), broadcast(0), broadcast(1), gathering(), gathering()});
  expect_right(2, {gathering(), all_reduce(1), gathering(), gathering()});
}

TEST(FlagProtocol, GatheredOperationsOfThree) {
  expect_right(3, {gathering(), gathering()});
  expect_right(3, {broadcast(1), gathering()});
}

TEST(FlagProtocol, LongOperationsOfTwo) {
  expect_right(2, {all_reduce(2)});
  expect_right(2, {all_reduce(1), broadcast(0, 1), all_reduce(1)});
  expect_right(2, {broadcast(0, 3), broadcast(1, 2)});
  expect_right<Long>(2, {broadcast(0, 4), broadcast(1, 3)});
  expect_right<Long>(2, {all_reduce(2)});
  expect_right(2, {all_to_all(3)});
  expect_right(2, {long_broadcast(0, 2), exchange(), long_broadcast(1, 1), broadcast(0, 1)});
  expect_right(2, {all_to_all(1), all_reduce(1), all_to_all(1), broadcast(0, 1)});
}

TEST(FlagProtocol, LongOperationsOfThree) {
  expect_right(3, {broadcast(0, 3)});
  expect_right(3, {all_reduce(1)});
  expect_right(3, {all_to_all(1)});
}

// Who does not know meets the others first.
TEST(FlagProtocol, LongOperationsThatNotAllStageEarly) {
  using NotAll = ModelAccess<2, 1, 1, 2, Buffers::kNotAll>;
  expect_right<NotAll>(2, {all_reduce(2)});
  expect_right<NotAll>(2, {all_reduce(1), broadcast(0, 1), all_to_all(1)});
  expect_right<NotAll>(2, {long_broadcast(0, 2), long_broadcast(1, 1), all_reduce(1)});
  expect_right<NotAll>(2, {gathered_all_to_all(1), gathered_all_reduce(1)});
  expect_right<NotAll>(3, {all_to_all(1)});
}

// With one array of each rank in a buffer, which its program writes and reads.
using Reached = ModelAccess<2, 1, 1, 2, Buffers::kReached>;
using WithoutFences = ModelAccess<2, 1, 1, 2, Buffers::kWithoutFences>;

TEST(FlagProtocol, DirectOperations) {
  expect_right<Reached>(2, {all_reduce(1), all_reduce(2), all_reduce(1)});
  expect_right<Reached>(2, {all_reduce(2), broadcast(0, 1), all_reduce(1)});
  expect_right<Reached>(2, {all_to_all(1), all_reduce(1), all_to_all(2)});
  expect_right<Reached>(2, {broadcast(0, 1), broadcast(1, 2), all_to_all(1), broadcast(1, 1)});
  expect_right<Reached>(3, {all_reduce(1)});
  expect_right<Reached>(2, {long_broadcast(0, 1), long_broadcast(1, 2), broadcast(1, 1)});
  expect_right<Reached>(3, {broadcast(1, 1), all_to_all(1)});
  expect_right<Reached>(3, {long_broadcast(1, 1)});
}

TEST(FlagProtocol, DirectOperationsThatAreMadeForAll) {
  expect_right<Reached>(2, {gathered_all_gather(1), gathered_all_gather(2), broadcast(0, 1)});
  expect_right<Reached>(2, {gathered_broadcast(0, 1), gathered_broadcast(1, 2), broadcast(1, 1)});
  expect_right<Reached>(2, {gathered_all_gather(1), gathered_broadcast(0, 1), gathering()});
  expect_right<Reached>(3, {gathered_all_gather(1)});
  expect_right<Reached>(3, {gathered_broadcast(1, 1)});
}

// What all have posted, and what only some have.
TEST(FlagProtocol, LongOperationsThatMayBePosted) {
  using Posted = ModelAccess<2, 1, 1, 2, Buffers::kNoneOrPosted>;
  expect_right<Posted>(2, {all_reduce(1), exchange(), all_reduce(1), all_reduce(1)});
  expect_right<Posted>(2, {all_to_all(1), broadcast(0), all_reduce(2)});
  expect_right<Posted>(2, {long_broadcast(0, 1), long_broadcast(1, 2), all_to_all(1)});
  expect_right<Posted>(3, {all_reduce(1), exchange()});
  expect_right<Posted>(3, {long_broadcast(1, 1)});
  using NotAll = ModelAccess<2, 1, 1, 2, Buffers::kNotAllOrPosted>;
  expect_right<NotAll>(2, {all_reduce(2)});
  expect_right<NotAll>(2, {all_reduce(1), exchange(), all_to_all(1)});
  expect_right<NotAll>(2, {long_broadcast(0, 2), long_broadcast(1, 1), all_reduce(1)});
  expect_right<NotAll>(3, {all_to_all(1)});
}

// Whoever has given up gets its memory back, and then nobody touches it.
TEST(FlagProtocol, WhoGivesUpGetsItsMemoryBack) {
  const auto give_up = []<class Access>(Access*, int ranks, const std::vector<Form>& script) {
    const State<Access> start(std::vector(static_cast<std::size_t>(ranks), script), true, true);
    const SearchResult result = search(start, kMostStates);
    std::cout << ranks << " ranks that may give up: " << result.states << " states\n";
    return result;
  };
  const auto expect_kept = [&](int ranks, const std::vector<Form>& script) {
    const SearchResult result = give_up(static_cast<Reached*>(nullptr), ranks, script);
    EXPECT_EQ(result.fault, "");
    EXPECT_TRUE(result.complete);
  };
  expect_kept(2, {all_reduce(1), all_reduce(1)});
  expect_kept(2, {broadcast(0, 1), all_to_all(1)});
  expect_kept(2, {gathered_all_gather(1), gathered_broadcast(0, 1)});
  expect_kept(3, {all_reduce(1)});
  expect_kept(3, {all_to_all(1)});
  expect_kept(3, {broadcast(0, 1)});
  expect_kept(3, {long_broadcast(1, 1)});
  for (const Form& form : {all_reduce(1), all_to_all(1), broadcast(0, 1), long_broadcast(0, 1),
                           gathered_all_gather(1), gathered_broadcast(0, 1)})
    EXPECT_NE(give_up(static_cast<WithoutFences*>(nullptr), 2, {form}).fault, "");
}

// Whatever the order, all that look at others find out, and nobody takes what is not meant for it.
TEST(FlagProtocol, WhoCalledSomethingElseIsFoundOut) {
  const auto expect_found_out = [](const Form& first, const Form& one, const Form& other) {
    const State<Short> start({{first, one}, {first, other}}, true);
    const SearchResult result = search(start, kMostStates);
    EXPECT_EQ(result.fault, "");
    EXPECT_TRUE(result.complete);
  };
  for (const Form& other : {Form{.digest = 1}, Form{.chunks = 2, .digest = 1}})
    expect_found_out(exchange(), exchange(), other);
  for (const Form& other :
       {Form{.digest = 1, .gathered = true}, Form{.chunks = 2, .digest = 1},
        Form{.everybody = false, .root = 1, .digest = 1}, Form{.everybody = false, .digest = 1}})
    expect_found_out(gathering(), gathering(), other);
}

// The search finds what is wrong on purpose.
TEST(FlagProtocol, WithoutReleaseOrWithTooLongRingsItFails) {
  EXPECT_NE(try_all<Short>(2, {exchange()}, false).fault, "");
  EXPECT_NE(try_all<Short>(2, {gathering()}, false).fault, "");
  EXPECT_NE(try_all<Short>(2, {all_reduce(1)}, false).fault, "");
  const auto late_calls =
      try_all<ModelAccess<3, 1>>(2, {broadcast(0), broadcast(0), broadcast(0), broadcast(0)});
  EXPECT_NE(late_calls.fault, "");
  const auto late_exchanges =
      try_all<ModelAccess<2, 1, 1, 3>>(2, {exchange(), broadcast(0), exchange()});
  EXPECT_NE(late_exchanges.fault, "");
  EXPECT_NE((try_all<ModelAccess<2, 3, 2>>(2, {broadcast(0, 4)}).fault), "");
  EXPECT_NE((try_all<ModelAccess<2, 3, 2>>(2, {all_reduce(4)}).fault), "");
}

}  // namespace
}  // namespace paceline::testing
