// What comes first on a connection, byte by byte: whole at its last byte and not before.
#include "manager/listen/client_opening.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary::manager {
namespace {

using namespace std::string_literals;

const std::string kRecord = "\x16\x03\x01\x00\x04\x01\x00\x00\x00"s;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s;
const std::string kSettings = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"s;

Opening judge(Protocol protocol, const std::string& text) {
  return judge_opening(protocol, std::as_bytes(std::span(text)));
}

void expect_whole_at_the_last_byte(Protocol protocol, const std::string& text) {
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
    EXPECT_EQ(judge(protocol, text.substr(0, bytes)), Opening::incomplete) << bytes;
  EXPECT_EQ(judge(protocol, text), Opening::whole);
  EXPECT_EQ(judge(protocol, text + "more"), Opening::whole);
}

TEST(ClientOpening, ARecordOfTls) {
  expect_whole_at_the_last_byte(Protocol::tls, kRecord);
}

TEST(ClientOpening, ThePrefaceAndSettingsOfHttp2) {
  expect_whole_at_the_last_byte(Protocol::http2, kPreface + kSettings);
  expect_whole_at_the_last_byte(Protocol::http2, kPreface + "\0\0\0\x04\0\0\0\0\0"s);
}

TEST(ClientOpening, WhatIsNoneIsWrongAtItsFirstWrongByte) {
  for (const std::string& text :
       {"G"s, "\x16\x02"s, "\x16\x03\x01\x00\x00"s, "\x16\x03\x01\x40\x01"s})
    EXPECT_EQ(judge(Protocol::tls, text), Opening::wrong) << text;
  for (const std::string& text : {"\x16"s, "PRI * HTTP/1"s, kPreface + "\0\0\0\x01\0\0\0\0\0"s,
                                  kPreface + "\0\x40\x01\x04\0\0\0\0\0"s})
    EXPECT_EQ(judge(Protocol::http2, text), Opening::wrong) << text;
}

TEST(ClientOpening, TheLongestOnesFit) {
  const std::string record = "\x16\x03\x01\x40\x00"s + std::string(16384, 'x');
  const std::string frame = kPreface + "\0\x40\x00\x04\0\0\0\0\0"s + std::string(16384, 'x');
  for (const auto& [protocol, text] :
       {std::pair(Protocol::tls, record), std::pair(Protocol::http2, frame)}) {
    EXPECT_EQ(judge(protocol, text), Opening::whole);
    EXPECT_LE(text.size(), kMostOpeningBytes);
  }
}

}  // namespace
}  // namespace tributary::manager
