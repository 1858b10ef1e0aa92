// The transports whose other end is here: UDP over loopback, and RDMA over a device in memory.
// tests/system/test_rdma.py has one that the kernel makes.
#include "tests/worker/transport/transport_suite.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/worker/rdma/fake_device.h"
#include "worker/rdma/rdma_transport.h"
#include "worker/transport/udp_transport.h"

namespace tributary::worker {
namespace {

constexpr std::uint32_t kGroup = 0xEFC30009;

class UdpEnd final : public TransportEnd {
 public:
  UdpEnd() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&at), length);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at), &length);
    const std::uint16_t port = ntohs(at.sin_port);
    transport_ = std::make_unique<UdpTransport>(INADDR_LOOPBACK, port);
    wire::StartInfo info;
    info.window = 64;
    info.chunk_bytes = 8192;
    info.workers = 1;
    info.group_ipv4 = kGroup;
    info.udp_base_port = port;
    transport_->on_start(info);
  }
  Transport& transport() override { return *transport_; }
  void echo() override {
    std::array<std::byte, 0x10000> bytes;
    sockaddr_in from{};
    socklen_t length = sizeof from;
    auto* const address = reinterpret_cast<sockaddr*>(&from);
    for (ssize_t got = 0;
         (got = ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0, address, &length)) >= 0;)
      ::sendto(socket_.get(), bytes.data(), static_cast<std::size_t>(got), 0, address, length);
  }

 private:
  FileDescriptor socket_;
  std::unique_ptr<UdpTransport> transport_;
};

class RdmaEnd final : public TransportEnd {
 public:
  Transport& transport() override { return transport_; }
  void echo() override {
    for (const auto& packet : device_.take_sent()) device_.arrive(packet);
  }

 private:
  FakeDevice device_;
  VerbsLibrary library_ = device_.library();
  RdmaTransport transport_{{FakeDevice::kSwitchIpv4, 47000, 1, 0}, {}, library_};
};

INSTANTIATE_TEST_SUITE_P(
    Transports, TransportSuiteTimed,
    testing::Values(TransportKind{"udp", [] { return std::make_unique<UdpEnd>(); }},
                    TransportKind{"rdma", [] { return std::make_unique<RdmaEnd>(); }}),
    name_of_kind);

}  // namespace
}  // namespace tributary::worker
