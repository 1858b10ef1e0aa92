#include "dataplane/switch/drop_ages.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

constexpr Instant kStart = Instant::from_ns(1'000'000'000);

TEST(DropAges, AnAgeCountsFromTheLastPacket) {
  DropAges ages;
  DropCounters drops;
  drops.add(DropReason::checksum, 3);
  ages.look(1, drops, kStart);
  const Instant later = kStart + Duration::seconds(40);
  ages.look(1, drops, later);
  EXPECT_EQ(ages.age(1, DropReason::checksum, 3, later), Duration::seconds(40));
  drops.add(DropReason::checksum);
  ages.look(1, drops, later);
  EXPECT_EQ(ages.age(1, DropReason::checksum, 4, later + Duration::seconds(2)),
            Duration::seconds(2));
}

TEST(DropAges, APacketThatWasNotLookedAtYetIsNew) {
  DropAges ages;
  EXPECT_EQ(ages.age(0, DropReason::mtu, 1, kStart), Duration());
  ages.look(0, DropCounters(), kStart);
  EXPECT_EQ(ages.age(0, DropReason::mtu, 1, kStart + Duration::seconds(9)), Duration());
}

}  // namespace
}  // namespace tributary::dataplane
