#include <string>

#include <gtest/gtest.h>

#include "comm/socket.h"

namespace paceline {
namespace {

TEST(SocketAddress, PrintsAsItIsParsed) {
  for (const std::string& text :
       {std::string("127.0.0.1:4000"), std::string("0.0.0.0:0"),
        std::string("255.255.255.255:65535"), std::string("[::1]:4000"), std::string("[::]:0"),
        std::string("[fe80::1:2]:65535"), std::string("unix:/tmp/a socket"),
        std::string("unix:relative"), std::string("unix:@abstract"),
        std::string("unix:@with space/and:colon")}) {
    const Result<SocketAddress> address = SocketAddress::parse(text);
    ASSERT_TRUE(address.ok()) << address.status().to_string();
    EXPECT_EQ(address->to_string(), text);
    EXPECT_EQ(SocketAddress::parse(address->to_string()).value().to_string(), text);
  }
}

TEST(SocketAddress, PortsComeAndGo) {
  for (const std::string host : {"10.0.0.1", "fe80::1"})
    EXPECT_EQ(without_port(with_port(host, 7)), host);
  EXPECT_EQ(with_port("fe80::1", 7), "[fe80::1]:7");
  EXPECT_EQ(with_port("10.0.0.1", 7), "10.0.0.1:7");
}

TEST(SocketAddress, KnowsItsFamily) {
  EXPECT_EQ(SocketAddress::parse("127.0.0.1:1").value().family(), AF_INET);
  EXPECT_EQ(SocketAddress::parse("[::1]:1").value().family(), AF_INET6);
  EXPECT_TRUE(SocketAddress::parse("unix:@a").value().is_unix());
  EXPECT_TRUE(SocketAddress::parse("unix:/a").value().is_unix());
  EXPECT_FALSE(SocketAddress::parse("127.0.0.1:1").value().is_unix());
}

TEST(SocketAddress, ShortAndLongFormsAreOneAddress) {
  EXPECT_EQ(SocketAddress::parse("[0:0::0:1]:7").value().to_string(), "[::1]:7");
  EXPECT_EQ(SocketAddress::parse("[::ffff:1.2.3.4]:7").value().to_string(), "[::ffff:1.2.3.4]:7");
}

TEST(SocketAddress, UnixNamesHaveTheKernelsLength) {
  const std::string longest(106, 'x');
  EXPECT_TRUE(SocketAddress::parse("unix:/" + longest).ok());
  EXPECT_TRUE(SocketAddress::parse("unix:@" + longest).ok());
  EXPECT_FALSE(SocketAddress::parse("unix:/" + longest + "xx").ok());
  EXPECT_FALSE(SocketAddress::parse("unix:@" + longest + "xx").ok());
}

TEST(SocketAddress, WhatIsMalformedIsRefusedWithExamples) {
  for (const std::string& text : {std::string(),
                                  std::string(":"),
                                  std::string("127.0.0.1"),
                                  std::string("127.0.0.1:"),
                                  std::string("127.0.0.1:x"),
                                  std::string("127.0.0.1:80x"),
                                  std::string("127.0.0.1:-1"),
                                  std::string("127.0.0.1: 80"),
                                  std::string("127.0.0.1:+80"),
                                  std::string("127.0.0.1:65536"),
                                  std::string("127.0.0.1:99999999999"),
                                  std::string("127.0.0:80"),
                                  std::string(":80"),
                                  std::string("256.0.0.1:80"),
                                  std::string("localhost:80"),
                                  std::string("::1:80"),
                                  std::string("[::1]"),
                                  std::string("[::1]80"),
                                  std::string("[]:80"),
                                  std::string("[::1:80"),
                                  std::string("[::g]:80"),
                                  std::string("[127.0.0.1]:80"),
                                  std::string("unix:"),
                                  std::string("UNIX:/a"),
                                  std::string("tcp:127.0.0.1:80")}) {
    const Status status = SocketAddress::parse(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.text().find("127.0.0.1:4000"), std::string::npos) << status.text();
  }
}

TEST(SocketAddress, ResolvesNumbersAndRefusesUnknownNames) {
  EXPECT_EQ(SocketAddress::resolve("127.0.0.1", 80).value().to_string(), "127.0.0.1:80");
  EXPECT_EQ(SocketAddress::resolve("::1", 80).value().to_string(), "[::1]:80");
  const Status status = SocketAddress::resolve("no such host", 80).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find("'no such host'"), std::string::npos) << status.text();
}

}  // namespace
}  // namespace paceline
