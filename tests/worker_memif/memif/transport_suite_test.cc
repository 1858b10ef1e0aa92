// The memif transport among the others; the switch's end is DPDK's driver.
#include "tests/worker/transport/transport_suite.h"

#include <unistd.h>

#include "tests/worker_memif/echo_switch.h"
#include "worker/memif/memif_transport.h"

namespace tributary::worker {
namespace {

using tributary::testing::EchoSwitch;

class MemifEnd final : public TransportEnd {
 public:
  MemifEnd() {
    server_.reset();
    transport_ = std::make_unique<MemifTransport>(MemifAddress{
        path(), 0, EchoSwitch::kIp, derived_worker_ipv4(7, 0), config::kDefaultUdpBasePort});
  }
  ~MemifEnd() override {
    server_.while_client_leaves([&] { transport_.reset(); });
  }
  Transport& transport() override { return *transport_; }

 private:
  static std::string path() { return "/tmp/tributary-memif-test-" + std::to_string(getpid()); }

  EchoSwitch& server_ = EchoSwitch::at(path());
  std::unique_ptr<MemifTransport> transport_;
};

INSTANTIATE_TEST_SUITE_P(Transports, TransportSuiteTimed,
                         ::testing::Values(TransportKind{
                             "memif", [] { return std::make_unique<MemifEnd>(); }}),
                         name_of_kind);

}  // namespace
}  // namespace tributary::worker
