#include "tools/telemetryd/admission.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/control/telemetry/key_file.h"

namespace tributary::telemetryd {
namespace {

using control::ReportKey;
using test::KeyFile;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kNode = 9;
constexpr std::uint64_t kNow = 1'800'000'000'000'000'000;
const std::uint32_t kSwitch = inet_addr("10.0.0.9");
const std::uint32_t kStranger = inet_addr("10.0.0.66");

Bytes datagram_of(std::uint32_t node) {
  Bytes out(telemetry::kGroupBytes);
  out[0] = std::byte{0x20};
  out[7] = static_cast<std::byte>(node);
  return out;
}

Bytes signed_by(const ReportKey& key, std::uint64_t sequence) {
  Bytes out = datagram_of(kNode);
  const std::size_t used = out.size();
  out.resize(used + telemetry::kTrailerBytes);
  key.sign(out, used, sequence);
  return out;
}

// True if the datagram counts; `why` is why not.
bool counts(Admission& admission, const Bytes& datagram, const Origin& origin, Refusal why = {}) {
  const Judged judged = admission.judge(datagram, origin);
  const bool taken = !judged.reports.empty();
  EXPECT_TRUE(taken || judged.refusal == why) << name_of(judged.refusal);
  return taken;
}

TEST(Admission, C6_ReportsComeFromTheAddressOfTheirNode) {
  Admission admission(Registered{{kNode, {kSwitch}}});
  EXPECT_FALSE(admission.needs_interfaces());
  EXPECT_TRUE(counts(admission, datagram_of(kNode), {kSwitch}));
  EXPECT_FALSE(counts(admission, datagram_of(kNode), {kStranger}, Refusal::unregistered));
  EXPECT_FALSE(counts(admission, datagram_of(8), {kSwitch}, Refusal::unregistered));
  EXPECT_FALSE(counts(admission, Bytes(7), {kSwitch}, Refusal::unregistered));
}

TEST(Admission, C6_AndThroughItsInterfaceWhereThatIsKnown) {
  Admission admission(Registered{{kNode, {kSwitch, "eth1"}}, {8, {kSwitch}}});
  EXPECT_TRUE(admission.needs_interfaces());
  EXPECT_TRUE(counts(admission, datagram_of(kNode), {kSwitch, "eth1"}));
  EXPECT_FALSE(counts(admission, datagram_of(kNode), {kSwitch, "eth2"}, Refusal::wrong_interface));
  EXPECT_FALSE(counts(admission, datagram_of(kNode), {kSwitch, ""}, Refusal::wrong_interface));
  EXPECT_TRUE(counts(admission, datagram_of(8), {kSwitch, "eth2"}));
}

TEST(Admission, C6_WithAKeyUnsignedForgedStaleAndReplayedDatagramsAreTold) {
  const KeyFile file;
  const auto key = std::make_shared<const ReportKey>(file.path());
  const KeyFile other_file("fedcba9876543210fedcba9876543210");
  const ReportKey other(other_file.path());
  Admission admission(Registered{{kNode, {kSwitch}}}, key);
  const Origin origin{kSwitch, {}, kNow};
  EXPECT_FALSE(counts(admission, datagram_of(kNode), origin, Refusal::unsigned_report));
  EXPECT_FALSE(counts(admission, signed_by(other, kNow), origin, Refusal::forged));
  EXPECT_FALSE(counts(admission, signed_by(*key, kNow), {kStranger, {}, kNow}));
  EXPECT_FALSE(counts(admission, signed_by(*key, 1), origin, Refusal::stale));
  EXPECT_TRUE(counts(admission, signed_by(*key, kNow), origin))
      << "what was refused took no number";
  EXPECT_FALSE(counts(admission, signed_by(*key, kNow), origin, Refusal::replayed));
  EXPECT_TRUE(counts(admission, signed_by(*key, kNow + 1), origin));
  EXPECT_EQ(admission.judge(signed_by(*key, kNow + 2), origin).reports.size(),
            telemetry::kGroupBytes)
      << "without the trailer";
}

}  // namespace
}  // namespace tributary::telemetryd
