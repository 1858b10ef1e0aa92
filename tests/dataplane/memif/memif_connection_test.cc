#include "dataplane/memif/memif_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "dataplane/memif/memif_refusal.h"
#include "tests/dataplane/memif/client_memory.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;
using testing::HasSubstr;

std::string refusal(MemifOffer offer) {
  try {
    const MemifConnection connection(std::move(offer));
  } catch (const MemifRefusal& refused) {
    return refused.what();
  }
  return "accepted";
}

TEST(MemifConnectionTimed, BeginsWithEmptyRings) {
  const ClientMemory memory;
  memory.ring(true).head = 9;
  memory.ring(false).tail = 9;
  const MemifConnection connection(memory.offer());
  EXPECT_EQ(memory.ring(true).head, 0);
  EXPECT_EQ(memory.ring(false).tail, 0);
  EXPECT_EQ(memory.ring(true).flags, memif::kRingNoInterrupts) << "the switch polls";
  EXPECT_EQ(memory.ring(false).flags, 0) << "the client's";
  EXPECT_FALSE(connection.broken());
}

TEST(MemifConnectionTimed, C1_RingsLieInTheirRegion) {
  const ClientMemory memory;
  MemifOffer offer = memory.offer();
  offer.to_client[0].region = 1;
  EXPECT_THAT(refusal(std::move(offer)), HasSubstr("does not lie there"));
  offer = memory.offer();
  offer.to_client[0].offset = static_cast<std::uint32_t>(memory.bytes()) - 64;
  EXPECT_THAT(refusal(std::move(offer)), HasSubstr("does not lie there"));
  offer = memory.offer();
  offer.to_client[0].offset = 0xFFFFFFF0;
  EXPECT_THAT(refusal(std::move(offer)), HasSubstr("does not lie there"));
  offer = memory.offer();
  offer.to_client[0].offset += 8;
  EXPECT_THAT(refusal(std::move(offer)), HasSubstr("not aligned"));
}

TEST(MemifConnectionTimed, C1_RingsAreApartAndHaveTheirMark) {
  const ClientMemory memory;
  MemifOffer offer = memory.offer();
  offer.to_client[0].offset = 64;
  EXPECT_THAT(refusal(std::move(offer)), HasSubstr("lie on each other"));
  memory.ring(false).cookie = 1;
  EXPECT_THAT(refusal(memory.offer()), HasSubstr("cookie"));
}

TEST(MemifConnectionTimed, C1_MemoryThatIsOpenIsRefused) {
  const ClientMemory open(std::size_t{1} << 20, 0);
  EXPECT_THAT(refusal(open.offer()), HasSubstr("region 0 is no memfd"));
}

}  // namespace
}  // namespace tributary::dataplane
