#include "dataplane/port/eal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

EalEnvironment environment() {
  return {{0, 2, 3}, "tributary-7", "error"};
}

config::SwitchConfig config_with(const std::string& devargs) {
  config::SwitchConfig config;
  config.ports = {{"p", devargs, 1500}};
  return config;
}

TEST(EalArguments, WithoutHugepagesAndPci) {
  const auto args = eal_arguments(config_with("net_null0"), environment());
  EXPECT_EQ(args, (std::vector<std::string>{"tributary-switchd", "--lcores", "0@(0,2,3),1@(0,2,3)",
                                            "--file-prefix", "tributary-7", "--log-level",
                                            "*:error", "-m", "256", "--no-huge", "--no-shconf",
                                            "--no-pci", "--iova-mode=va"}));
}

TEST(EalArguments, HugepagesStayInMemory) {
  auto config = config_with("net_null0");
  config.memory = {true, 512};
  const auto args = eal_arguments(config, environment());
  EXPECT_THAT(args, Contains("--in-memory"));
  EXPECT_THAT(args, Contains("512"));
  EXPECT_THAT(args, Not(Contains("--no-huge")));
}

TEST(EalArguments, PciIsScannedOnlyForPciPorts) {
  EXPECT_THAT(eal_arguments(config_with("0000:01:00.0"), environment()), Not(Contains("--no-pci")));
}

TEST(EalArguments, OnlyThePortsCardsAreTaken) {
  auto config = config_with("0000:01:00.0,rx_vec_en=1");
  config.ports.push_back({"q", "net_null0", 1500});
  const auto args = eal_arguments(config, environment());
  const auto allowed = std::find(args.begin(), args.end(), "-a");
  ASSERT_NE(allowed, args.end());
  EXPECT_EQ(*(allowed + 1), "0000:01:00.0,rx_vec_en=1");
  EXPECT_EQ(std::count(args.begin(), args.end(), "-a"), 1);
}

TEST(EalArguments, WorkerIsPinnedToAnAllowedCpu) {
  auto config = config_with("net_null0");
  config.lcore = 2;
  EXPECT_THAT(eal_arguments(config, environment()), Contains("0@(0,2,3),1@2"));
  config.lcore = 1;
  try {
    eal_arguments(config, environment());
    FAIL() << "CPU 1 is not allowed";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("switch.lcore: CPU 1"));
    EXPECT_THAT(error.what(), HasSubstr("(0,2,3)"));
  }
}

TEST(EalArguments, EachWorkerHasItsCpu) {
  auto config = config_with("net_null0");
  config.lcores = {3, -1, 0};
  EXPECT_THAT(eal_arguments(config, environment()), Contains("0@(0,2,3),1@3,2@(0,2,3),3@0"));
  config.lcores = {3, 7};
  try {
    eal_arguments(config, environment());
    FAIL() << "CPU 7 is not there";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "switch.lcores[1]: CPU 7: this process may run on CPUs (0,2,3) only");
  }
}

TEST(EalArguments, TelemetryStaysOn) {
  EXPECT_THAT(eal_arguments(config_with("net_null0"), environment()),
              Not(Contains("--no-telemetry")));
}

}  // namespace
}  // namespace tributary::dataplane
