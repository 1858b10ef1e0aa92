#include "dataplane/memif/memif_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "dataplane/memif/memif_refusal.h"
#include "tests/dataplane/memif/client_memory.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;
using memif::Message;
using testing::HasSubstr;
using worker::FileDescriptor;

// A port with id 3 and two queues.
class HandshakeTimed : public testing::Test {
 protected:
  std::string refusal(const Message& message, int passed = -1) {
    try {
      say(message, passed);
    } catch (const MemifRefusal& refused) {
      return refused.what();
    }
    return "accepted";
  }
  void say(const Message& message, int passed = -1) {
    handshake.take(message, FileDescriptor(passed < 0 ? -1 : ::dup(passed)));
  }
  void say_all_but_connect() {
    say(init_message(3));
    say(region_message(0, memory.bytes()), memory.fd());
    for (const bool to_server : {true, false})
      for (std::uint16_t index = 0; index < 2; ++index)
        say(ring_message(to_server, index), memory.event());
  }

  MemifSettings settings = memif_settings(parse_devargs("net_memif0,role=server,id=3,secret=key"));
  bool taken = false;
  MemifHandshake handshake{[this](std::uint32_t id) -> std::optional<MemifDoor> {
    if (id != 3 && (id != memif::kAnyId || taken)) return std::nullopt;
    return MemifDoor{&settings, 2, taken, 0x0A4D00FE, 47000};
  }};
  ClientMemory memory;

  void SetUp() override { settings.secret = {}; }
};

TEST_F(HandshakeTimed, HelloSaysWhatFits) {
  const Message hello = MemifHandshake::hello();
  EXPECT_EQ(hello.type, memif::MessageType::hello);
  EXPECT_EQ(hello.hello.min_version, memif::kVersion);
  EXPECT_EQ(hello.hello.max_region, MemifHandshake::kMostRegions - 1);
  EXPECT_EQ(hello.hello.max_log2_ring_size, 14);
  EXPECT_STREQ(hello.hello.name.data(), "tributary");
}

TEST_F(HandshakeTimed, EndsWithWhatTheClientDescribed) {
  say_all_but_connect();
  EXPECT_FALSE(handshake.complete());
  say(connect_message());
  ASSERT_TRUE(handshake.complete());
  const MemifOffer offer = handshake.take_offer();
  EXPECT_EQ(offer.regions.size(), 1u);
  EXPECT_EQ(offer.to_server.size(), 2u);
  EXPECT_EQ(offer.to_client[1].log2_size, ClientMemory::kLog2Size);
}

TEST_F(HandshakeTimed, TheLibraryIsToldWhichPortItHasAndWhereTheSwitchIs) {
  Message init = init_message(memif::kAnyId);
  memif::kOwnName.copy(init.init.name.data(), init.init.name.size() - 1);
  say(init);
  EXPECT_EQ(handshake.id(), 3u);
  EXPECT_EQ(handshake.told().id, 3u);
  EXPECT_EQ(handshake.told().switch_ipv4, 0x0A4D00FEu);
  EXPECT_EQ(handshake.told().udp_base_port, 47000);
}

TEST_F(HandshakeTimed, T14_WhoTakesPacketsWithoutChecksumsIsToldSo) {
  Message init = init_message(3);
  memif::kLibraryName.copy(init.init.name.data(), init.init.name.size() - 1);
  say(init);
  EXPECT_TRUE(handshake.by_library());
  EXPECT_EQ(handshake.told().unchecked, 1);
  EXPECT_TRUE(handshake.take_offer().unchecked);
}

TEST_F(HandshakeTimed, AnOlderLibraryHasChecksums) {
  Message init = init_message(3);
  memif::kOwnName.copy(init.init.name.data(), init.init.name.size() - 1);
  say(init);
  EXPECT_TRUE(handshake.by_library());
  EXPECT_EQ(handshake.told().unchecked, 0);
  EXPECT_FALSE(handshake.take_offer().unchecked);
}

TEST_F(HandshakeTimed, AnotherClientIsToldNothing) {
  say(init_message(3));
  EXPECT_EQ(handshake.told().switch_ipv4, 0u);
}

TEST_F(HandshakeTimed, WhoAsksForAnyPortIsToldThatNoneIsFree) {
  taken = true;
  EXPECT_EQ(refusal(init_message(memif::kAnyId)), "No port is free");
}

TEST_F(HandshakeTimed, AnAckWantsNoAnswer) {
  Message ack{};
  ack.type = memif::MessageType::ack;
  EXPECT_FALSE(handshake.take(ack, {}));
}

TEST_F(HandshakeTimed, C1_AnotherVersionOrModeIsRefused) {
  Message init = init_message(3);
  init.init.version = 0x0301;
  EXPECT_THAT(refusal(init), HasSubstr("version 3.1; the switch speaks memif 2.0"));
  init = init_message(3);
  init.init.mode = 1;
  EXPECT_THAT(refusal(init), HasSubstr("mode 1"));
}

TEST_F(HandshakeTimed, C1_WhoeverMayNotIsRefusedInDpdksWords) {
  EXPECT_EQ(refusal(init_message(4)), "ID not found");
  settings.secret[0] = 'x';
  EXPECT_EQ(refusal(init_message(3)), "Incorrect secret");
  Message init = init_message(3);
  init.init.secret[0] = 'x';
  taken = true;
  EXPECT_EQ(refusal(init), "Already connected");
  taken = false;
  EXPECT_EQ(refusal(init), "accepted");
  EXPECT_EQ(refusal(init), "INIT came twice");
}

TEST_F(HandshakeTimed, C1_MessagesHaveTheirOrder) {
  EXPECT_THAT(refusal(connect_message()), HasSubstr("unexpected message of type 6"));
  EXPECT_THAT(refusal(region_message(0, 4096), memory.fd()), HasSubstr("type 4"));
  say(init_message(3));
  Message odd{};
  for (const int type : {0, 2, 7, 9, 65535}) {
    odd.type = static_cast<memif::MessageType>(type);
    EXPECT_THAT(refusal(odd), HasSubstr("of type " + std::to_string(type)));
  }
}

TEST_F(HandshakeTimed, C1_RegionsComeInTurnAndAreFew) {
  say(init_message(3));
  EXPECT_THAT(refusal(region_message(1, 4096), memory.fd()), HasSubstr("region 1; there are 0"));
  EXPECT_THAT(refusal(region_message(0, 4096)), HasSubstr("without a descriptor"));
  for (std::uint16_t i = 0; i < MemifHandshake::kMostRegions; ++i)
    EXPECT_EQ(refusal(region_message(i, 4096), memory.fd()), "accepted");
  EXPECT_THAT(refusal(region_message(MemifHandshake::kMostRegions, 4096), memory.fd()),
              HasSubstr("there are 8 of at most 8"));
}

TEST_F(HandshakeTimed, C1_RingsAreAsManyAsThePortsQueues) {
  say(init_message(3));
  EXPECT_THAT(refusal(ring_message(true, 1), memory.event()), HasSubstr("ring 1"));
  say(ring_message(true, 0), memory.event());
  EXPECT_THAT(refusal(connect_message()),
              HasSubstr("the port has queues: 2, the client makes 0 of these rings"));
  say(ring_message(true, 1), memory.event());
  EXPECT_THAT(refusal(ring_message(true, 2), memory.event()), HasSubstr("the port has queues: 2"));
  Message deep = ring_message(false);
  deep.add_ring.log2_size = 15;
  EXPECT_THAT(refusal(deep, memory.event()), HasSubstr("2^15"));
}

// Writing to any other file could hold a packet loop up.
TEST_F(HandshakeTimed, C1_OnlyAnEventfdIsWoken) {
  say(init_message(3));
  EXPECT_THAT(refusal(ring_message(false)), HasSubstr("without an eventfd"));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  EXPECT_THAT(refusal(ring_message(false), writer.get()), HasSubstr("without an eventfd"));
  EXPECT_THAT(refusal(ring_message(false), memory.fd()), HasSubstr("without an eventfd"));
}

}  // namespace
}  // namespace tributary::dataplane
