// Completion hosts: whose term it is, and what they may refuse.
#include "sim/rules/host_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

class HostCheckerTest : public SmallWorld {
 protected:
  HostCheckerTest() { build(); }
  void appoint(std::uint32_t host, std::uint32_t term, std::uint64_t nonce = 1) {
    aggregator::Outgoing start;
    start.header = header_of(wire::PacketType::start);
    start.header.flags = wire::kFlagAtPs;
    Endpoint::Parts peer;
    peer.node = node_of_ipv4(host);
    start.peer = Endpoint(peer);
    wire::ExtensionWriter writer(start.extensions);
    wire::StartInfo info;
    info.host_term = term;
    writer.add(info);
    writer.add_nonce(nonce);
    start.extension_bytes = writer.bytes().size();
    hosts_.check_appointment("root", start);
  }
  void take_result(std::uint32_t term) {
    std::array<std::byte, wire::kMaxExtensionBytes> buffer{};
    wire::ExtensionWriter writer(buffer);
    wire::ResultInfo info;
    info.host_term = term;
    writer.add(info);
    hosts_.check_result("root", {header_of(wire::PacketType::result), writer.bytes(), {}});
  }

  HostChecker hosts_{run_};
};

TEST_F(HostCheckerTest, Rule5_ATermIsOneHostsAlone) {
  appoint(7, 1);
  appoint(7, 1);
  appoint(8, 2);
  EXPECT_EQ(violation(), "");
  appoint(7, 2);
  EXPECT_EQ(violation(), "root appoints a second host under term 2");
}

TEST_F(HostCheckerTest, Rule5_TermsGrowWithinARootsIncarnation) {
  appoint(7, 3);
  appoint(7, 1, 2);
  EXPECT_EQ(violation(), "") << "another incarnation begins anew";
  appoint(7, 2, 2);
  appoint(7, 1, 2);
  EXPECT_EQ(violation(), "root appoints a second host under term 1");
}

TEST_F(HostCheckerTest, Rule5_AResultCountsUnderTheTermThatHolds) {
  appoint(7, 1);
  take_result(1);
  appoint(8, 2);
  EXPECT_EQ(violation(), "");
  take_result(1);
  EXPECT_EQ(violation(), "root took a result of a term that does not hold");
}

TEST_F(HostCheckerTest, AnIntactPacketIsRefusedOnlyWhenItMayBeLate) {
  const FrameRef frame = frame_of(header_of(wire::PacketType::contribution));
  hosts_.check_drop("server", frame, DropReason::stale_term);
  hosts_.check_drop("server", frame, DropReason::no_slot);
  FrameRef broken = world_.frames().copy(frame);
  broken.writable().truth.corrupted = true;
  hosts_.check_drop("server", broken, DropReason::bad_fan_in);
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(run_.reach().server_drops[static_cast<std::size_t>(DropReason::bad_fan_in)], 1u);
  hosts_.check_drop("server", frame, DropReason::bad_fan_in);
  EXPECT_NE(violation().find("server refused an intact packet"), std::string::npos) << violation();
}

TEST_F(HostCheckerTest, OnlyRanksThatDisagreeAskForDifferentOps) {
  const FrameRef frame = frame_of(header_of(wire::PacketType::contribution));
  scenario_.jobs[0].disagree = true;
  hosts_.check_drop("server", frame, DropReason::op_mismatch);
  EXPECT_EQ(violation(), "");
  scenario_.jobs[0].disagree = false;
  hosts_.check_drop("server", frame, DropReason::op_mismatch);
  EXPECT_NE(violation(), "");
}

}  // namespace
}  // namespace tributary::sim
