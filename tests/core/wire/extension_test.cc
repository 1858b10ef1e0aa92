#include "core/wire/extension.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/wire/header.h"

namespace tributary::wire {
namespace {

// The first number that no extension has.
constexpr std::uint8_t kUnknownType = kExtensionTypeMax + 1;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

class ExtensionTest : public ::testing::Test {
 protected:
  std::array<std::byte, kMaxExtensionBytes> area_{};
  ExtensionWriter writer_{area_};
};

TEST_F(ExtensionTest, EachLayoutReadsBack) {
  const StartInfo start{64, 1024, 4, 10'000, 0xEFC30001, 2, 1, 47000, 7, 8, 1, 2, 3, 0, 16};
  const TaskInformation task{1ull << 40, 4, 2};
  const ResultInfo result{128, 0xFFFFFF00, 3, 9};
  const OpError error{{1000, 0, 256, DType::float32, ReduceOp::sum, Collective::allreduce, false},
                      {999, 3, 255, DType::int32, ReduceOp::max, Collective::barrier, true,
                       Encoding::block_scaled, -200, 7}};
  ASSERT_TRUE(writer_.add(start));
  ASSERT_TRUE(writer_.add(task));
  ASSERT_TRUE(writer_.add(result));
  ASSERT_TRUE(writer_.add(error));
  ASSERT_TRUE(writer_.add_nonce(0x0123456789ABCDEF));
  ASSERT_TRUE(writer_.add_target_rank(70'000));
  const auto area = writer_.bytes();
  EXPECT_EQ(check_extensions(area), DropReason::none);
  EXPECT_EQ(find_start_info(area), start);
  EXPECT_EQ(find_task_information(area), task);
  EXPECT_EQ(find_result_info(area), result);
  EXPECT_EQ(find_op_error(area), error);
  EXPECT_EQ(find_nonce(area), 0x0123456789ABCDEFu);
  EXPECT_EQ(find_target_rank(area), 70'000u);
  EXPECT_FALSE(find_extension(area, ExtensionType::missing_ids));
}

TEST_F(ExtensionTest, EmptyAreaIsWellFormedAndHoldsNothing) {
  EXPECT_EQ(check_extensions({}), DropReason::none);
  EXPECT_FALSE(find_extension({}, ExtensionType::nonce));
  EXPECT_FALSE(find_nonce({}));
  EXPECT_EQ(find_missing_ids({}, {}), 0u);
}

TEST_F(ExtensionTest, MissingIdsAreCountedBeyondTheReadersRoom) {
  const std::vector<std::uint32_t> ids = {5, 6, 7, 0xFFFFFFFF};
  ASSERT_TRUE(writer_.add_missing_ids(ids));
  std::array<std::uint32_t, 2> out{};
  EXPECT_EQ(find_missing_ids(writer_.bytes(), out), 4u);
  EXPECT_EQ(out, (std::array<std::uint32_t, 2>{5, 6}));
  std::array<std::uint32_t, 8> all{};
  EXPECT_EQ(find_missing_ids(writer_.bytes(), all), 4u);
  EXPECT_EQ(all[3], 0xFFFFFFFFu);
}

TEST_F(ExtensionTest, LyingMissingCountReadsOnlyWhatIsThere) {
  ASSERT_TRUE(writer_.add_raw(1, 60'000, bytes_of({0, 0, 0, 9})));
  std::array<std::uint32_t, 8> out{};
  EXPECT_EQ(find_missing_ids(writer_.bytes(), out), 1u);
  EXPECT_EQ(out[0], 9u);
}

TEST_F(ExtensionTest, LongestListFitsAPacketBesideNonceAndCrc) {
  std::vector<std::uint32_t> ids(kMaxMissingIds);
  std::iota(ids.begin(), ids.end(), 0u);
  ASSERT_TRUE(writer_.add_nonce(1));
  ASSERT_TRUE(writer_.add_missing_ids(ids));
  ASSERT_TRUE(writer_.add_crc32c_placeholder());
  std::array<std::byte, 2048> out;
  EXPECT_GT(serialize({}, writer_.bytes(), out), 0u);
  ids.push_back(0);
  EXPECT_FALSE(ExtensionWriter(area_).add_missing_ids(ids));
}

TEST_F(ExtensionTest, WriterSaysWhenItIsFullAndKeepsWhatItHas) {
  std::array<std::byte, 20> small{};
  ExtensionWriter w(small);
  EXPECT_TRUE(w.add_nonce(1));
  EXPECT_FALSE(w.add_nonce(2));
  EXPECT_EQ(w.bytes().size(), 12u);
  EXPECT_TRUE(w.add_crc32c_placeholder());
  EXPECT_FALSE(w.add_crc32c_placeholder());
  EXPECT_EQ(find_nonce(w.bytes()), 1u);
  const Bytes too_long(255 * 4, std::byte{0});
  EXPECT_FALSE(writer_.add_raw(4, 0, too_long));
}

TEST_F(ExtensionTest, DataIsPaddedToAWord) {
  ASSERT_TRUE(writer_.add_raw(4, 7, bytes_of({1, 2, 3, 4, 5})));
  const auto ext = find_extension(writer_.bytes(), ExtensionType::authentication);
  ASSERT_TRUE(ext);
  EXPECT_EQ(ext->inline_value, 7);
  EXPECT_EQ(Bytes(ext->data.begin(), ext->data.end()), bytes_of({1, 2, 3, 4, 5, 0, 0, 0}));
}

TEST_F(ExtensionTest, MalformedAreasAreRefused) {
  EXPECT_EQ(check_extensions(bytes_of({0})), DropReason::bad_extension);
  EXPECT_EQ(check_extensions(bytes_of({0, 1, 0})), DropReason::bad_extension);
  EXPECT_EQ(check_extensions(bytes_of({0, 0, 0, 0})), DropReason::bad_extension);  // endless
  EXPECT_EQ(check_extensions(bytes_of({1, 2, 0, 1})), DropReason::bad_extension);  // lying length
  EXPECT_EQ(check_extensions(bytes_of({1, 255, 0, 1, 0, 0, 0, 0})), DropReason::bad_extension);
  EXPECT_EQ(check_extensions(bytes_of({0, 1, 0, 0, 1, 0, 0, 0})), DropReason::bad_extension);
}

TEST_F(ExtensionTest, UnknownTypeIsIgnoredUnlessCritical) {
  EXPECT_EQ(check_extensions(bytes_of({0x7E, 1, 0, 0})), DropReason::none);
  EXPECT_EQ(check_extensions(bytes_of({0xFE, 1, 0, 0})), DropReason::critical_extension);
  EXPECT_EQ(check_extensions(bytes_of({kUnknownType, 1, 0, 0})), DropReason::none);
  EXPECT_EQ(check_extensions(bytes_of({0x80 | (kUnknownType), 1, 0, 0})),
            DropReason::critical_extension);
  EXPECT_EQ(check_extensions(bytes_of({0x80 | (kUnknownType - 1), 1, 0, 0})), DropReason::none);
}

TEST_F(ExtensionTest, DataShorterThanItsLayoutIsNotRead) {
  for (const int type : {3, 6, 8, 10, 11}) {
    ExtensionWriter w(area_);
    ASSERT_TRUE(w.add_raw(static_cast<std::uint8_t>(type), 0, bytes_of({1, 2, 3, 4})));
    const Bytes exact(w.bytes().begin(), w.bytes().end());
    EXPECT_EQ(check_extensions(exact), DropReason::none);
    EXPECT_FALSE(find_task_information(exact));
    EXPECT_FALSE(find_result_info(exact));
    EXPECT_FALSE(find_op_error(exact));
    EXPECT_FALSE(find_nonce(exact));
    EXPECT_FALSE(find_start_info(exact));
  }
}

TEST_F(ExtensionTest, FirstOfTwoWinsAndSearchStopsAtGarbage) {
  ASSERT_TRUE(writer_.add_nonce(1));
  ASSERT_TRUE(writer_.add_nonce(2));
  EXPECT_EQ(find_nonce(writer_.bytes()), 1u);
  EXPECT_FALSE(find_nonce(bytes_of({0, 0, 0, 0, 0x8A, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})));
}

}  // namespace
}  // namespace tributary::wire
