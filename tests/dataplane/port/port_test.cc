#include "dataplane/port/port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

// DPDK finds nothing wrong with it, and would hand out the other port's device.
TEST(Port, ADeviceThatIsThereIsNotTakenFromWhoHasIt) {
  RingSwitch sw(test_config(1));
  const config::PortConfig config{"a", "net_null40", 1500};
  Port first(config);
  first.set_up(std::array{sw.pool()});
  try {
    const Port second({"b", "net_null40,size=100", 1500});
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("port b (net_null40,size=100): there is a device"));
  }
  EXPECT_TRUE(first.poll_link()) << "it is as it was";
}

}  // namespace
}  // namespace tributary::dataplane
