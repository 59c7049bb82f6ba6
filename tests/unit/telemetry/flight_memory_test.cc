// A ring in memory that processes share.

#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "telemetry/flight_ring.h"
#include "tests/unit/telemetry/numbered_records.h"

namespace paceline {
namespace {

off_t size_of_ring() {
  struct stat status {};
  EXPECT_EQ(::fstat(FlightRing::create_memory().value().get(), &status), 0);
  return status.st_size;
}

UniqueFd memory_of(off_t size) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(fd.get(), size), 0);
  return fd;
}

TEST(FlightMemory, TwoMappingsAreOneRing) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto rank = FlightRing::open(memory.get()).value();
  const auto agent = FlightRing::open(memory.get()).value();
  EXPECT_TRUE(agent->read().empty());
  for (std::uint64_t number = 0; number < 100; ++number) testing::write_numbered(*rank, number);
  EXPECT_EQ(agent->read().size(), FlightRing::kRecords);
  EXPECT_TRUE(testing::whole_and_in_order(agent->read()));
}

TEST(FlightMemory, OutlivesItsMappingAndIsReadWithoutItsWriter) {
  const UniqueFd memory = FlightRing::create_memory().value();
  testing::write_numbered(*FlightRing::open(memory.get()).value(), 7);
  const auto agent = FlightRing::open(memory.get()).value();
  ASSERT_EQ(agent->read().size(), 1u);
  EXPECT_EQ(agent->read()[0].signature.sequence, 7u);
}

TEST(FlightMemory, StaysOpenAcrossNoExecUntilItIsMeantTo) {
  const UniqueFd memory = FlightRing::create_memory().value();
  EXPECT_NE(::fcntl(memory.get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(FlightRing::open(memory.get()).ok());
  EXPECT_GE(::fcntl(memory.get(), F_GETFD), 0) << "open() took the caller's descriptor";
}

// A mapping of memory that has been cut ends the process that looks at it.
TEST(FlightMemory, CannotBeCutUnderItsReader) {
  const UniqueFd memory = FlightRing::create_memory().value();
  EXPECT_NE(::ftruncate(memory.get(), 0), 0);
  EXPECT_NE(::ftruncate(memory.get(), 2 * size_of_ring()), 0);
}

TEST(FlightMemory, OfAnotherSizeIsRefused) {
  const off_t size = size_of_ring();
  for (const off_t other : {off_t{0}, off_t{1}, size - 1, size + 1, 2 * size}) {
    const auto ring = FlightRing::open(memory_of(other).get());
    ASSERT_FALSE(ring.ok()) << other;
    EXPECT_EQ(ring.status().code(), Code::kInvalidArgument);
    EXPECT_NE(ring.status().text().find("flight ring: descriptor"), std::string::npos);
  }
}

TEST(FlightMemory, OfAnotherLayoutIsRefused) {
  const UniqueFd zeros = memory_of(size_of_ring());
  EXPECT_EQ(FlightRing::open(zeros.get()).status().code(), Code::kInvalidArgument);
  for (const off_t offset : {0, 7, 8, 15}) {
    const UniqueFd memory = FlightRing::create_memory().value();
    unsigned char byte = 0;
    ASSERT_EQ(::pread(memory.get(), &byte, 1, offset), 1);
    byte ^= 1;
    ASSERT_EQ(::pwrite(memory.get(), &byte, 1, offset), 1);
    const Status refused = FlightRing::open(memory.get()).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << offset;
    EXPECT_NE(refused.text().find("another version"), std::string::npos) << refused.text();
  }
}

TEST(FlightMemory, WhatIsNoMemoryAtAllIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  EXPECT_FALSE(FlightRing::open(read_end.get()).ok());
  EXPECT_FALSE(FlightRing::open(-1).ok());
}

// A rank may write anything into its ring: the reader shows it and survives.
TEST(FlightMemory, GarbageIsReadWithoutHarm) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto agent = FlightRing::open(memory.get()).value();
  const std::vector<unsigned char> garbage(static_cast<std::size_t>(size_of_ring()) - 16, 0xFF);
  for (const std::size_t offset : {std::size_t{16}, std::size_t{24}}) {
    const std::size_t size = garbage.size() + 16 - offset;
    ASSERT_EQ(::pwrite(memory.get(), garbage.data(), size, static_cast<off_t>(offset)),
              static_cast<ssize_t>(size));
    for (const FlightRecord& record : agent->read()) {
      EXPECT_FALSE(record.to_string(TimePoint()).empty());
    }
    EXPECT_LE(agent->read().size(), FlightRing::kRecords);
  }
}

}  // namespace
}  // namespace paceline
