#include "comm/socket.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(SocketAddress, IsPrintedAsItIsParsed) {
  for (const char* text :
       {"127.0.0.1:4000", "0.0.0.0:0", "[::1]:65535", "unix:/tmp/socket", "unix:@paceline-test"}) {
    const auto address = SocketAddress::parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->to_string(), text);
  }
}

TEST(SocketAddress, SaysWhatAnAddressLooksLike) {
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:4x",
                           "::1:4000", "host:80", "unix:", "[::1]"}) {
    const Status status = SocketAddress::parse(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.text().find("127.0.0.1:4000"), std::string::npos);
  }
  EXPECT_FALSE(SocketAddress::parse("unix:/" + std::string(200, 'x')).ok());
}

TEST(SocketAddress, AConnectionThatNobodyTakesIsNamed) {
  const UniqueFd listener = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
  const SocketAddress address = SocketAddress::of_local_end(listener.get()).value();
  EXPECT_NE(address.to_string(), "127.0.0.1:0");
  const Status status = listen_on(address).status();
  EXPECT_NE(status.text().find(address.to_string()), std::string::npos) << status.text();
}

}  // namespace
}  // namespace paceline
