// Records of a packet loop become telemetry reports in datagrams (C6).
#include "control/telemetry/report_sender.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "dataplane/frame/frame_pool.h"
#include "telemetry/wire/report.h"
#include "tests/control/running_switch.h"
#include "tests/control/telemetry/key_file.h"

namespace tributary::control {
namespace {

using dataplane::ReportRecord;

constexpr std::uint32_t kNode = 7;

class Server {
 public:
  Server() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{30, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~Server() { close(socket_); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::vector<std::byte> datagram() {
    std::vector<std::byte> bytes(2000);
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    EXPECT_GT(got, 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

 private:
  int socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

class ReportsTimed : public testing::Test {
 protected:
  static config::SwitchConfig switch_config() {
    auto config = null_config();
    config.telemetry.node_id = kNode;
    config.telemetry.report_to = "127.0.0.1:9";
    return config;
  }
  dataplane::LoopTelemetry& telemetry() { return *sw.get().packet_loops()[0].telemetry(); }
  void record(std::uint16_t egress, std::size_t inner) {
    ReportRecord record;
    record.own.egress_port = egress;
    record.own.latency_ns = 1000u + egress;
    record.bitmap = telemetry::kPorts | telemetry::kHopLatency;
    record.inner_type = inner == 0 ? telemetry::InnerType::none : telemetry::InnerType::ipv4;
    record.inner_bytes = static_cast<std::uint16_t>(inner);
    ASSERT_TRUE(telemetry().ring().push(std::move(record)));
  }

  RunningSwitch sw{switch_config()};
  Server server;
};

TEST_F(ReportsTimed, C6_RecordsShareDatagramsAndTheSequenceGoesOn) {
  ReportSender sender(kNode, server.address());
  EXPECT_EQ(sender.drain(3, telemetry()), 0u) << "nothing is sent of nothing";
  constexpr std::uint16_t kRecords = 9;
  for (std::uint16_t i = 0; i < kRecords; ++i) record(i, i % 3 == 0 ? 0 : 300);
  EXPECT_EQ(sender.drain(3, telemetry()), kRecords);
  record(kRecords, 704);
  EXPECT_EQ(sender.drain(3, telemetry()), 1u);
  std::uint16_t next = 0;
  std::uint32_t sequence = 0;
  for (; next <= kRecords; ++sequence) {
    const auto datagram = server.datagram();
    EXPECT_LE(datagram.size(), 1400u);
    telemetry::ReportReader reader(datagram);
    ASSERT_TRUE(reader.group());
    EXPECT_EQ(*reader.group(), (telemetry::ReportGroup{3, sequence, kNode}));
    for (telemetry::Report report; reader.next(report); ++next) {
      EXPECT_EQ(report.hop(kNode).egress_port, next);
      EXPECT_EQ(report.hop(kNode).latency_ns, 1000u + next);
      const std::size_t inner = next == kRecords ? 704 : next % 3 == 0 ? 0 : 300;
      EXPECT_EQ(report.inner.size(), inner);
      EXPECT_EQ(report.tracked, inner != 0);
    }
    EXPECT_FALSE(reader.malformed());
  }
  EXPECT_LT(sequence, kRecords) << "several of them share one";
  EXPECT_EQ(telemetry().report_counters().datagrams.get(), sequence);
  EXPECT_EQ(telemetry().report_counters().refused.get(), 0u);
}

TEST_F(ReportsTimed, C6_ADropAndALongQueueAreFlagged) {
  for (const bool dropped : {false, true})
    for (const std::size_t queue : {dataplane::kMarkBacklog - 1, dataplane::kMarkBacklog}) {
      ReportRecord record;
      record.own.egress_port = 1;
      record.own.queue_occupancy = static_cast<std::uint32_t>(queue);
      record.bitmap = telemetry::kPorts | telemetry::kQueue;
      record.dropped = dropped;
      ASSERT_TRUE(telemetry().ring().push(std::move(record)));
    }
  record(1, 0);  // without a queue
  ReportSender sender(kNode, server.address());
  EXPECT_EQ(sender.drain(0, telemetry()), 5u);
  const auto datagram = server.datagram();
  telemetry::ReportReader reader(datagram);
  std::vector<std::pair<bool, bool>> flags;
  for (telemetry::Report report; reader.next(report);)
    flags.emplace_back(report.dropped, report.congested);
  EXPECT_EQ(flags,
            (std::vector<std::pair<bool, bool>>{
                {false, false}, {false, true}, {true, false}, {true, true}, {false, false}}));
}

TEST_F(ReportsTimed, C6_WithAKeyEachDatagramIsSignedAndItsSequenceGrows) {
  const test::KeyFile file;
  const ReportKey key(file.path());
  std::uint64_t before = 0;
  for (int process = 0; process < 2;
       ++process) {  // a switch that starts anew goes on behind itself
    ReportSender sender(kNode, server.address(), std::make_unique<const ReportKey>(file.path()));
    constexpr std::uint16_t kRecords = 9;
    for (std::uint16_t i = 0; i < kRecords; ++i) record(i, 704);
    EXPECT_EQ(sender.drain(3, telemetry()), kRecords);
    for (std::uint16_t next = 0; next < kRecords;) {
      const auto datagram = server.datagram();
      EXPECT_LE(datagram.size(), 1400u);
      const auto trailer = telemetry::read_trailer(datagram);
      ASSERT_TRUE(trailer);
      EXPECT_TRUE(key.has_signed(*trailer));
      EXPECT_GT(trailer->sequence, before);
      before = trailer->sequence;
      telemetry::ReportReader reader(trailer->reports);
      for (telemetry::Report report; reader.next(report); ++next)
        EXPECT_EQ(report.hop(kNode).egress_port, next);
      EXPECT_FALSE(reader.malformed());
    }
  }
}

TEST_F(ReportsTimed, AServerThatCannotBeReachedCostsItsReportsAlone) {
  ReportSender sender(kNode, "255.255.255.255:9");  // broadcast, which the kernel refuses
  record(1, 0);
  EXPECT_EQ(sender.drain(0, telemetry()), 1u);
  EXPECT_EQ(telemetry().report_counters().refused.get(), 1u);
  EXPECT_EQ(telemetry().report_counters().datagrams.get(), 0u);
}

TEST_F(ReportsTimed, AnAddressThatIsNoneIsRefused) {
  for (const char* bad : {"nowhere:1", "10.0.0.9", "10.0.0.9:x"})
    EXPECT_THROW(ReportSender(kNode, bad), std::runtime_error) << bad;
  EXPECT_NO_THROW(ReportSender(kNode, "[::1]:9"));
}

}  // namespace
}  // namespace tributary::control
