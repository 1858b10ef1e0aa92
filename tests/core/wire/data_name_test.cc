#include "core/wire/data_name.h"

#include <gtest/gtest.h>

#include <string>

#include "core/wire/header.h"

namespace tributary::wire {
namespace {

std::string wrong(std::string_view text) {
  DataName name;
  const char* const why = parse_name(text, name);
  return why == nullptr ? "" : why;
}

TEST(DataName, HasTheseParts) {
  DataName name;
  ASSERT_EQ(parse_wire_name("/job/7/run=513/layer1/grad/v=12/seg=3/worker=2", name), nullptr);
  EXPECT_EQ(name, (DataName{7, "513", "layer1/grad", 12, 3, 2}));
  ASSERT_EQ(parse_name("/job/7/grad/v=0", name), nullptr);
  EXPECT_EQ(name, (DataName{7, "", "grad", 0, {}, {}}));
}

TEST(DataName, IsWrittenAsItIsRead) {
  for (const std::string text :
       {"/job/7/run=513/layer1/grad/v=12/seg=3/worker=2",
        "/job/4294967295/a/v=18446744073709551615", "/job/1/run=x/v=1/v=2/seg=16777215",
        "/job/1/gr\xC3\xBC\xC3\x9F/v=0/worker=0"}) {
    DataName name;
    ASSERT_EQ(parse_name(text, name), nullptr) << text;
    NameBuffer room;
    EXPECT_EQ(write_name(name, room), text);
  }
}

TEST(DataName, AWrittenNameThatIsTooLongIsEmpty) {
  const std::string tensor(150, 't');
  NameBuffer room;
  EXPECT_EQ(write_name({7, "1", tensor, 1, 0, {}}, room), "");
}

// C4: each bad name is told apart.
TEST(DataName, BadNamesSayWhy) {
  const std::string shape = "is not of the form";
  EXPECT_EQ(wrong("/job/7/" + std::string(200, 'x') + "/v=1"), "is longer than 160 bytes");
  EXPECT_EQ(wrong("grad/v=1"), "does not begin with /job/");
  EXPECT_EQ(wrong("/jobs/7/grad/v=1"), "does not begin with /job/");
  EXPECT_EQ(wrong(""), "does not begin with /job/");
  EXPECT_EQ(wrong("/job/x/grad/v=1"), "has no job number after /job/");
  EXPECT_EQ(wrong("/job/07/grad/v=1"), "has no job number after /job/");
  EXPECT_EQ(wrong("/job/4294967296/grad/v=1"), "has no job number after /job/");
  EXPECT_EQ(wrong("/job/7/../8/grad/v=1"), "has a part '.' or '..'");
  EXPECT_EQ(wrong("/job/7/./grad/v=1"), "has a part '.' or '..'");
  EXPECT_EQ(wrong("/job/7//grad/v=1"), "has an empty part, or ends with '/'");
  EXPECT_EQ(wrong("/job/7/grad/v=1/"), "has an empty part, or ends with '/'");
  EXPECT_EQ(wrong("/job/7/gr ad/v=1"), "has a space or a control character");
  EXPECT_EQ(wrong(std::string("/job/7/gr\0ad/v=1", 16)), "has a space or a control character");
  EXPECT_EQ(wrong("/job/7/grad/v=x"), "has no number after v=");
  EXPECT_EQ(wrong("/job/7/grad/v=01"), "has no number after v=");
  EXPECT_EQ(wrong("/job/7/grad/v=1/seg=-1"), "has no number after seg=");
  EXPECT_EQ(wrong("/job/7/grad/v=1/seg=16777216"), "has a segment beyond 16777215");
  EXPECT_EQ(wrong("/job/7/grad/v=1/worker="), "has no rank after worker=");
  EXPECT_EQ(wrong("/job/7/run=/grad/v=1"), "has nothing after run=");
  for (const char* text : {"/job/7", "/job/7/grad", "/job/7/v=1", "/job/7/run=x/v=1",
                           "/job/7/grad/seg=0/v=1x", "/job/7/grad/v=1/worker=1/seg=0/x"})
    EXPECT_NE(wrong(text), "") << text;
  EXPECT_TRUE(wrong("/job/7/grad").starts_with(shape));
}

TEST(DataName, MustBeUtf8) {
  for (const char* bad : {"\xFF", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\x80",
                          "\xF4\x90\x80\x80", "\xF0\x80\x80\x80", "\xE2\x82"})
    EXPECT_EQ(wrong("/job/7/" + std::string(bad) + "/v=1"), "is not UTF-8");
  EXPECT_EQ(wrong("/job/7/\xE2\x82\xAC\xF0\x9F\x98\x80/v=1"), "");
}

TEST(DataName, APacketsNameSaysRunAndSegment) {
  DataName name;
  EXPECT_STREQ(parse_wire_name("/job/7/grad/v=1/seg=0", name), "has no run=");
  EXPECT_STREQ(parse_wire_name("/job/7/run=1/grad/v=1", name), "has no seg=");
}

TEST(DataName, TravelsInExtensions) {
  std::array<std::byte, 256> room;
  ExtensionWriter writer(room);
  const std::string text = "/job/7/run=513/grad/v=12/seg=3";
  const ValueInfo info{0x0123456789ABCDEF, 1u << 20, 1025, 0xFEDCBA9876543210, 3'600'000};
  ASSERT_TRUE(add_name(writer, text));
  ASSERT_TRUE(add_value_info(writer, info));
  EXPECT_EQ(check_extensions(writer.bytes()), DropReason::none);
  EXPECT_EQ(find_name(writer.bytes()), text);
  EXPECT_EQ(find_value_info(writer.bytes()), info);
  EXPECT_EQ(find_name({}), std::nullopt);
  EXPECT_EQ(find_value_info({}), std::nullopt);
}

// As snapshots before the digest of the whole value sent it.
TEST(DataName, AShorterValueInfoIsNone) {
  std::array<std::byte, 64> room;
  ExtensionWriter writer(room);
  const std::array<std::byte, 20> old{};
  ASSERT_TRUE(
      writer.add_raw(static_cast<std::uint8_t>(ExtensionType::value_info) | kCriticalBit, 0, old));
  EXPECT_EQ(find_value_info(writer.bytes()), std::nullopt);
}

TEST(DataName, SegmentsOfOneValueAgreeInAllButTheirOwnDigest) {
  const ValueInfo info{1, 2000, 3, 7, 100};
  const auto changed = [&](auto change) {
    ValueInfo other = info;
    change(other);
    return other;
  };
  EXPECT_TRUE(info.is_same_segment(changed([](ValueInfo& o) { o.lifetime_ms = 99; })));
  const ValueInfo sibling = changed([](ValueInfo& o) { o.digest = 2; });
  EXPECT_TRUE(info.is_of_same_value(sibling));
  EXPECT_FALSE(info.is_same_segment(sibling));
  EXPECT_FALSE(info.is_of_same_value(changed([](ValueInfo& o) { o.whole = 8; })));
  EXPECT_FALSE(info.is_of_same_value(changed([](ValueInfo& o) { o.bytes = 1999; })));
  EXPECT_FALSE(info.is_of_same_value(changed([](ValueInfo& o) { o.segments = 2; })));
}

TEST(DataName, ALengthBeyondTheExtensionIsNoName) {
  std::array<std::byte, 64> room;
  ExtensionWriter writer(room);
  ASSERT_TRUE(add_name(writer, "/job/7"));
  room[3] = std::byte{200};
  EXPECT_EQ(find_name(writer.bytes()), std::nullopt);
}

TEST(DataName, TheLongestFitsThePacket) {
  std::array<std::byte, kMaxExtensionBytes> room;
  ExtensionWriter writer(room);
  ASSERT_TRUE(add_name(writer, std::string(kMaxNameBytes, 'x')));
  ASSERT_TRUE(add_value_info(writer, {}));
  ASSERT_TRUE(writer.add_crc32c_placeholder());
  EXPECT_EQ(serialized_bytes(writer.bytes().size()) - kHeaderBytes, kNameBytesBeyondUsual + 64);
}

}  // namespace
}  // namespace tributary::wire
