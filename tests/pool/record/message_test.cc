// Messages: there and back, and what is refused.
#include "pool/record/message.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::pool {
namespace {

template <typename T>
T there_and_back(const T& message) {
  const auto frame = encode(message);
  EXPECT_EQ(frame_bytes(frame), frame.size());
  const auto again = decode(frame);
  EXPECT_TRUE(again && std::holds_alternative<T>(*again));
  EXPECT_EQ(encode(*again), frame);
  return std::get<T>(*again);
}

TEST(PoolMessage, EveryKindComesBack) {
  Hello hello;
  hello.pool = "train";
  hello.manifest = 5;
  hello.nonce[3] = std::byte{9};
  EXPECT_EQ(there_and_back(hello).nonce, hello.nonce);
  Welcome welcome;
  welcome.node = "a";
  welcome.address = {std::byte{1}, std::byte{2}};
  welcome.key = 0xFFFFFFFFFFFFFFFF;
  EXPECT_EQ(there_and_back(welcome).address, welcome.address);
  Entries entries{4, 1, {{1, 64, 2, 3}, gone(9, 5)}};
  EXPECT_EQ(there_and_back(entries).records, entries.records);
  EXPECT_EQ(there_and_back(Lookup{{1, 2, 3}}).ids.size(), 3u);
  EXPECT_EQ(there_and_back(Command{2, 3, 4}).count, 4u);
  EXPECT_EQ(there_and_back(Text{"{}"}).json, "{}");
  EXPECT_EQ(there_and_back(Failure{"no"}).text, "no");
  there_and_back(Challenge{});
  there_and_back(Proof{});
  there_and_back(TableRequest{3});
  there_and_back(Renew{1, 2});
  there_and_back(Renewed{1, 2, 1});
  there_and_back(Corrupt{{1, 64, 3, 4}});
  there_and_back(StatusRequest{});
  there_and_back(Operate{});
}

TEST(PoolMessage, EveryCutAndEveryExtraByteIsRefused) {
  const auto frame = encode(Entries{4, 0, {{1, 64, 2, 3}}});
  for (std::size_t length = 0; length < frame.size(); ++length) {
    auto cut = frame;
    cut.resize(length);
    EXPECT_EQ(decode(cut), std::nullopt);
    if (length >= 4) {  // a frame that is whole by its own length
      const auto claimed = static_cast<std::uint32_t>(length - 4);
      std::memcpy(cut.data(), &claimed, 4);
      EXPECT_EQ(decode(cut), std::nullopt) << length;
    }
  }
  auto longer = frame;
  longer.push_back(std::byte{0});
  const auto claimed = static_cast<std::uint32_t>(longer.size() - 4);
  std::memcpy(longer.data(), &claimed, 4);
  EXPECT_EQ(decode(longer), std::nullopt);
}

TEST(PoolMessage, AListIsNoLongerThanItsBytes) {
  auto frame = encode(Lookup{{1}});
  const std::uint32_t many = 0x20000001;  // times 8 it is 8 again, in 32 bits
  std::memcpy(frame.data() + kFrameHeadBytes, &many, 4);
  EXPECT_EQ(decode(frame), std::nullopt);
}

TEST(PoolMessage, FramesHaveALimit) {
  auto frame = encode(StatusRequest{});
  const auto with_length = [&](std::uint32_t length) {
    std::memcpy(frame.data(), &length, 4);
    return frame_bytes(frame);
  };
  EXPECT_EQ(frame_bytes(std::span(frame).first(3)), 0u);
  EXPECT_EQ(with_length(1), std::nullopt);
  EXPECT_EQ(with_length(kMaxFrameBytes + 1), std::nullopt);
  EXPECT_EQ(with_length(kMaxFrameBytes), kMaxFrameBytes + 4);
  Entries most;
  most.records.resize(kMostEntries);
  EXPECT_LE(encode(most).size(), kMaxFrameBytes + 4);
}

}  // namespace
}  // namespace tributary::pool
