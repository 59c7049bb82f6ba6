#include <set>
#include <string>

#include <gtest/gtest.h>

#include <paceline/types.h>

namespace paceline {
namespace {

TEST(Types, ElementsHaveTheirSizeAndTheirCppType) {
  EXPECT_EQ(size_of(kDataTypeOf<float>), sizeof(float));
  EXPECT_EQ(size_of(kDataTypeOf<double>), sizeof(double));
  EXPECT_EQ(size_of(kDataTypeOf<std::int32_t>), sizeof(std::int32_t));
  EXPECT_EQ(size_of(kDataTypeOf<std::int64_t>), sizeof(std::int64_t));
}

TEST(Types, EveryNameIsOfItsOwn) {
  std::set<std::string> names;
  for (const DataType type : kDataTypes) EXPECT_TRUE(names.emplace(name(type)).second);
  for (const ReduceOp op : kReduceOps) EXPECT_TRUE(names.emplace(name(op)).second);
  for (const auto kind :
       {OperationKind::kBarrier, OperationKind::kBroadcast, OperationKind::kAllReduce}) {
    EXPECT_TRUE(names.emplace(name(kind)).second);
  }
}

// Values come from the wire, so those beyond the last must be harmless.
TEST(Types, UnknownValuesAreNamedAsSuch) {
  EXPECT_EQ(name(static_cast<DataType>(99)), "unknown type");
  EXPECT_EQ(name(static_cast<ReduceOp>(99)), "unknown op");
  EXPECT_EQ(name(static_cast<OperationKind>(99)), "unknown operation");
  EXPECT_EQ(size_of(static_cast<DataType>(99)), 0u);
}

}  // namespace
}  // namespace paceline
