#include "config/plan/own_buffers.h"

#include <gtest/gtest.h>

#include "config/plan/memory_plan.h"
#include "config/plan/numa_plan.h"

namespace tributary::config {
namespace {

SwitchConfig with_ports(std::initializer_list<const char*> devices) {
  SwitchConfig config;
  for (const char* device : devices) {
    const std::string name = "p" + std::to_string(config.ports.size());
    config.ports.push_back({name, device, 1500});
  }
  return config;
}

// C1: af_xdp's driver keeps 2,048 buffers of each queue for good; they must not be others'.
TEST(OwnBuffers, C1_ArePlannedForPortsWhoseDriverKeepsThem) {
  SwitchConfig config = with_ports({"net_af_packet0,iface=a", "net_af_xdp0,iface=b"});
  EXPECT_EQ(own_buffers(config, config.ports[0]), 0u);
  EXPECT_EQ(own_buffers(config, config.ports[1]),
            2048 + least_buffers_per_queue(config) + kSharedBuffers);
  config.ports[1].queues = 2;
  EXPECT_EQ(own_buffers(config, config.ports[1]),
            2 * (2048 + least_buffers_per_queue(config)) + kSharedBuffers);
  EXPECT_EQ(own_buffers(config), own_buffers(config, config.ports[1]));
}

// The pools of the others leave them room.
TEST(OwnBuffers, C1_AreNotInTheCommonPool) {
  constexpr std::size_t kBytes = 2560;
  SwitchConfig plain = with_ports({"net_af_packet0,iface=a", "net_af_packet1,iface=b"});
  plain.memory.megabytes = 32;
  SwitchConfig xdp = with_ports({"net_af_packet0,iface=a", "net_af_xdp0,iface=b"});
  xdp.memory.megabytes = 32;
  const auto buffers = [&](const SwitchConfig& config) {
    return numa_plan(config, {}, kBytes).pools.at(0).buffers;
  };
  EXPECT_EQ(buffers(xdp), ((16u << 20) - own_buffers(xdp) * kOwnBufferBytes) / kBytes);
  EXPECT_GT(buffers(plain), buffers(xdp));
}

}  // namespace
}  // namespace tributary::config
