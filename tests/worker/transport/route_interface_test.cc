#include "worker/transport/route_interface.h"

#include <gtest/gtest.h>
#include <net/if.h>

namespace tributary::worker {
namespace {

TEST(RouteInterface, IsTheOneThatTheKernelsRouteNames) {
  EXPECT_EQ(route_interface(0x7F000001), static_cast<int>(if_nametoindex("lo")));
}

}  // namespace
}  // namespace tributary::worker
