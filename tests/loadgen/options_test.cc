#include "tools/loadgen/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tributary::loadgen {
namespace {

TEST(Options, Rates) {
  EXPECT_EQ(parse_rate("max"), 0u);
  EXPECT_EQ(parse_rate("1"), 1u);
  EXPECT_EQ(parse_rate("250k"), 250'000u);
  EXPECT_EQ(parse_rate("2M"), 2'000'000u);
  for (const char* bad : {"", "0", "-1", "1.5k", "k", "2G", "1kk", "99999M", "1 k"})
    EXPECT_EQ(parse_rate(bad), std::nullopt) << bad;
}

TEST(Options, LateRanks) {
  EXPECT_EQ(parse_late("3:20ms"), std::pair(3u, Duration::ms(20)));
  for (const char* bad : {"", "3", "3:", ":20ms", "x:20ms", "3:20", "-1:1ms"})
    EXPECT_EQ(parse_late(bad), std::nullopt) << bad;
}

TEST(Options, JobRates) {
  EXPECT_EQ(parse_job_rate("3:250k"), std::pair(3u, std::uint64_t{250'000}));
  EXPECT_EQ(parse_job_rate("3:max"), std::pair(3u, std::uint64_t{0}));
  for (const char* bad : {"", "3", "3:", ":1k", "x:1k", "3:fast", "-1:1k", "3:0"})
    EXPECT_EQ(parse_job_rate(bad), std::nullopt) << bad;
}

std::optional<int> parse(const std::vector<const char*>& words, Options& options) {
  std::vector<const char*> argv = {"tributary-loadgen", "--config", "s.yaml"};
  argv.insert(argv.end(), words.begin(), words.end());
  return parse_options(static_cast<int>(argv.size()), argv.data(), options);
}

TEST(Options, WholeCommandLine) {
  Options o;
  ASSERT_EQ(
      parse({"--job",     "1",     "--job",     "7",  "--port",     "w0=net_af_packet0,iface=ve0",
             "--rate",    "50k",   "--ops",     "9",  "--late",     "1:5ms",
             "--late",    "2:6ms", "--lose",    "1%", "--dtype",    "int32",
             "--l2",      "10k",   "--json",    "-",  "--job-rate", "7:2k",
             "--l2-port", "w0",    "--l2-port", "w1"},
            o),
      std::nullopt);
  EXPECT_EQ(o.config_path, "s.yaml");
  EXPECT_THAT(o.jobs, testing::ElementsAre(1, 7));
  EXPECT_EQ(o.ends.at("w0"), "net_af_packet0,iface=ve0");
  EXPECT_EQ(o.rate, 50'000u);
  EXPECT_EQ(o.ops, 9u);
  EXPECT_EQ(o.late.at(2), Duration::ms(6));
  EXPECT_EQ(o.faults.lose_ppm, 10'000u);
  EXPECT_EQ(o.dtype, wire::DType::int32);
  EXPECT_EQ(o.l2_rate, 10'000u);
  EXPECT_EQ(o.job_rates.at(7), 2'000u);
  EXPECT_THAT(o.l2_ports, testing::ElementsAre("w0", "w1"));
  EXPECT_EQ(o.json, "-");
}

TEST(Options, RefusesWhatItCannotRead) {
  for (const std::vector<const char*>& words : {std::vector{"--rate", "fast"},
                                                {"--job-rate", "3"},
                                                {"--late", "3"},
                                                {"--port", "w0"},
                                                {"--dtype", "float16"},
                                                {"--lose", "lots"},
                                                {"--op-chunks", "0"},
                                                {"--l2", "max"}}) {
    Options o;
    testing::internal::CaptureStderr();
    const auto status = parse(words, o);
    const std::string text = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(status) << words[0];
    EXPECT_NE(*status, 0) << words[0];
    EXPECT_THAT(text, testing::HasSubstr(words[0]));
  }
}

}  // namespace
}  // namespace tributary::loadgen
