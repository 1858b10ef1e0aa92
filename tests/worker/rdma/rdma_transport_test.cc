// rdma:// addresses on a host that may have no RDMA device; tests/system/test_rdma.py has one.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "worker/transport/transport.h"

namespace tributary::worker {
namespace {

std::string refused(const std::string& address, const Patience& patience = {}) {
  try {
    make_transport(address, 1, 0, patience);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(RdmaTransport, RefusesAnAddressThatIsNone) {
  EXPECT_NE(refused("rdma://nowhere").find("no IPv4 address after rdma://"), std::string::npos);
  EXPECT_NE(refused("rdma://10.0.0.1:0").find("port is not a number from 1 to 65535"),
            std::string::npos);
  EXPECT_NE(refused("rdmb://10.0.0.1").find("rdma://SWITCH_IPV4[:PORT]"), std::string::npos);
}

// TEST-NET-1 (RFC 5737) is no host's: where there is a device, nothing answers.
TEST(RdmaTransport, SaysWhichStepFailed) {
  const std::string why = refused("rdma://192.0.2.1", {.limit = Duration::ms(100)});
  EXPECT_EQ(why.find("rdma transport: "), 0u) << why;
}

}  // namespace
}  // namespace tributary::worker
