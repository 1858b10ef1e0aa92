// rdma:// addresses on a host that may have no RDMA device, and the transport over one that is not
// there; tests/system/test_rdma.py has one.
#include "worker/rdma/rdma_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/worker/rdma/fake_device.h"
#include "worker/api/progress.h"

namespace tributary::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

class RdmaQueuePairTest : public testing::Test {
 protected:
  std::unique_ptr<RdmaTransport> transport() {
    return std::make_unique<RdmaTransport>(UdTarget{FakeDevice::kSwitchIpv4, 47000, 1, 0},
                                           Patience{}, library_);
  }
  static std::vector<std::byte> packet() {
    wire::Header h;
    h.type = wire::PacketType::pending;
    h.job = 1;
    std::vector<std::byte> bytes(256);
    bytes.resize(wire::serialize(h, {}, bytes));
    return bytes;
  }
  // All that waits; the number of turns is bounded where that has no end.
  static std::size_t receive(Transport& from) {
    std::size_t packets = 0;
    for (int turns = 0; turns < 1000; ++turns)
      if (from.receive([&](const wire::Packet&) { ++packets; }) == 0) return packets;
    ADD_FAILURE() << "there is always more to receive";
    return packets;
  }

  FakeDevice device_;
  VerbsLibrary library_ = device_.library();
};

TEST_F(RdmaQueuePairTest, ReceivesAndSends) {
  const auto rdma = transport();
  device_.arrive(packet());
  EXPECT_EQ(receive(*rdma), 1u);
  const auto bytes = packet();
  const Datagram datagram{.head = bytes, .payload = {}};
  EXPECT_EQ(rdma->send(std::span(&datagram, 1)), 1u);
  EXPECT_EQ(device_.take_sent(), std::vector<std::vector<std::byte>>{bytes});
  EXPECT_EQ(rdma->failure(), "");
}

TEST_F(RdmaQueuePairTest, AReceiveInErrorIsTheEndAndNothingIsPostedAgain) {
  const auto rdma = transport();
  const std::size_t posted = device_.receives_posted();
  device_.break_receive(IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(receive(*rdma), 0u);
  EXPECT_EQ(device_.receives_posted(), posted);
  EXPECT_THAT(rdma->failure(),
              AllOf(HasSubstr("queue pair 17 of fake0 is in error"),
                    HasSubstr("a receive ended with a local error (work completion status 4")));
  EXPECT_EQ(rdma->drops().total(), 0u);
}

// Its receives are flushed, and they are looked at first.
TEST_F(RdmaQueuePairTest, ASendInErrorIsNamedAndNotWhatItHasFlushed) {
  const auto rdma = transport();
  device_.break_at_send(IBV_WC_LOC_QP_OP_ERR);
  const auto bytes = packet();
  const Datagram datagram{.head = bytes, .payload = {}};
  rdma->send(std::span(&datagram, 1));
  receive(*rdma);
  EXPECT_THAT(rdma->failure(),
              HasSubstr("a send ended with a local error (work completion status 2"));
}

// Nothing is received that would end the wait.
TEST_F(RdmaQueuePairTest, AnIdleThreadSeesASendInError) {
  const auto rdma = transport();
  device_.break_sends_alone(IBV_WC_LOC_LEN_ERR);
  const auto bytes = packet();
  const Datagram datagram{.head = bytes, .payload = {}};
  rdma->send(std::span(&datagram, 1));
  rdma->wait(Duration::seconds(100'000));  // it returns at once
  EXPECT_THAT(rdma->failure(), HasSubstr("work completion status 1"));
}

// send() looks for free slots after its owner has looked for a failure.
TEST_F(RdmaQueuePairTest, AnIdleThreadSeesAnErrorThatSendHasFound) {
  const auto rdma = transport();
  device_.break_sends_alone(IBV_WC_LOC_LEN_ERR);
  const auto bytes = packet();
  const Datagram datagram{.head = bytes, .payload = {}};
  for (int i = 0; i < 10'000 && rdma->failure().empty(); ++i) rdma->send(std::span(&datagram, 1));
  ASSERT_THAT(rdma->failure(), HasSubstr("work completion status 1"));
  rdma->wait(Duration::seconds(100'000));  // it returns at once
  rdma->wait(Duration());                  // and waits from then on
}

TEST_F(RdmaQueuePairTest, ACommunicatorFailsForIt) {
  SessionOptions options;
  options.job = 1;
  options.size = 1;
  options.nonce = 5;
  Instant now = Instant::from_ns(1'000'000'000);
  Progress progress(transport(), options, {}, now);
  progress.turn(now);
  EXPECT_FALSE(progress.join_failure());
  device_.break_receive(IBV_WC_LOC_PROT_ERR);
  progress.turn(now);
  ASSERT_TRUE(progress.join_failure());
  EXPECT_THAT(progress.join_failure()->text,
              HasSubstr("job 1: rdma transport: queue pair 17 of fake0 is in error"));
  const auto call = std::make_shared<NameCall>();
  call->name = "/job/1/run=1/grad/v=1";
  progress.submit(call);
  progress.turn(now);
  ASSERT_TRUE(call->done) << "and what is asked by name, too";
  EXPECT_THAT(call->failure->text, HasSubstr("queue pair 17 of fake0 is in error"));
  const std::size_t posted = device_.receives_posted();
  for (int turns = 0; turns < 100; ++turns) progress.turn(now = now + Duration::ms(1));
  EXPECT_EQ(device_.receives_posted(), posted);
}

}  // namespace
}  // namespace tributary::worker
