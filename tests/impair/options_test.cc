#include "tools/impair/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace tributary::impair {
namespace {

TEST(Options, SharesAreExactAndBounded) {
  EXPECT_EQ(parse_ppm("1%"), 10'000u);
  EXPECT_EQ(parse_ppm("0.05%"), 500u);
  EXPECT_EQ(parse_ppm("100%"), 1'000'000u);
  EXPECT_EQ(parse_ppm("0"), 0u);
  for (const char* bad : {"", "1", "101%", "-1%", "nan%", "1 %", "1%%", "x"})
    EXPECT_EQ(parse_ppm(bad), std::nullopt) << bad;
}

TEST(Options, TimesHaveUnits) {
  EXPECT_EQ(parse_duration("250us"), Duration::us(250));
  EXPECT_EQ(parse_duration("1.5ms"), Duration::us(1500));
  EXPECT_EQ(parse_duration("2s"), Duration::seconds(2));
  EXPECT_EQ(parse_duration("0"), Duration());
  for (const char* bad : {"", "5", "61s", "-1ms", "1h", "inf s"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

TEST(Options, FirstLossesAreOfAJobOrOfAll) {
  const auto all = parse_first_loss("aggregate");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->type, wire::PacketType::aggregate);
  EXPECT_EQ(all->job, std::nullopt);
  const auto one = parse_first_loss("contribution:4294967295");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->type, wire::PacketType::contribution);
  EXPECT_EQ(one->job, 4294967295u);
  for (const char* bad :
       {"", "join", "aggregate:", "aggregate:x", "result:1 ", "result:4294967296"})
    EXPECT_FALSE(parse_first_loss(bad)) << bad;
}

TEST(Options, ADelayFileReplacesTheDelay) {
  const std::string file = testing::TempDir() + "impair.delay";
  std::remove(file.c_str());
  EXPECT_EQ(read_delay(file, Duration::us(3)), Duration::us(3)) << "none is there";
  std::ofstream(file) << "5ms\n";
  EXPECT_EQ(read_delay(file, Duration::us(3)), Duration::ms(5));
  std::ofstream(file) << "0\n";
  EXPECT_EQ(read_delay(file, Duration::us(3)), Duration());
  for (const char* bad : {"", "soon", "61s"}) {
    std::ofstream(file) << bad << "\n";
    EXPECT_THROW(read_delay(file, Duration()), std::runtime_error) << bad;
  }
  std::remove(file.c_str());
}

TEST(Options, WholeCommandLine) {
  const std::array argv = {"tributary-impair",
                           "--a",
                           "net_memif0,id=0",
                           "--b",
                           "net_memif1,id=1",
                           "--drop",
                           "1%",
                           "--delay",
                           "10us",
                           "--seed",
                           "9",
                           "--rate",
                           "20000000",
                           "--queue",
                           "30000",
                           "--mark",
                           "10000",
                           "--wait-for-links",
                           "--lose-first",
                           "aggregate:7",
                           "--lose-first",
                           "result"};
  Options options;
  ASSERT_EQ(parse_options(static_cast<int>(argv.size()), argv.data(), options), std::nullopt);
  EXPECT_EQ(options.devargs_a, "net_memif0,id=0");
  EXPECT_EQ(options.devargs_b, "net_memif1,id=1");
  EXPECT_EQ(options.impairment.drop_ppm, 10'000u);
  EXPECT_EQ(options.impairment.delay, Duration::us(10));
  EXPECT_EQ(options.impairment.bits_per_second, 20'000'000u);
  EXPECT_EQ(options.impairment.queue_bytes, 30'000u);
  EXPECT_EQ(options.impairment.mark_bytes, 10'000u);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_TRUE(options.wait_for_links);
  ASSERT_EQ(options.first_losses.size(), 2u);
  EXPECT_EQ(options.first_losses[0].job, 7u);
  EXPECT_EQ(options.first_losses[1].type, wire::PacketType::result);
}

TEST(Options, RefusesWhatItCannotRead) {
  const std::array argv = {"tributary-impair", "--a", "x", "--b", "y", "--drop", "lots"};
  Options options;
  testing::internal::CaptureStderr();
  const auto status = parse_options(static_cast<int>(argv.size()), argv.data(), options);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("'lots'"));
  ASSERT_TRUE(status);
  EXPECT_NE(*status, 0);
}

}  // namespace
}  // namespace tributary::impair
