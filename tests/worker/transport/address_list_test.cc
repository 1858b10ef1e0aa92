#include "worker/transport/address_list.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& list) {
  try {
    split_addresses(list);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(AddressList, OneAddressIsAListOfOne) {
  EXPECT_THAT(split_addresses("udp://10.0.0.1:9000"), ElementsAre("udp://10.0.0.1:9000"));
  EXPECT_THAT(split_addresses("memif:///run/s.sock?id=3&ip=10.0.0.2"),
              ElementsAre("memif:///run/s.sock?id=3&ip=10.0.0.2"));
}

TEST(AddressList, A2_AnEntryWithoutASchemeHasTheOneBefore) {
  EXPECT_THAT(split_addresses("udp://10.0.0.1,10.0.1.1:9000,memif:///a"),
              ElementsAre("udp://10.0.0.1", "udp://10.0.1.1:9000", "memif:///a"));
}

TEST(AddressList, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal("udp://10.0.0.1,"), HasSubstr("an entry is empty"));
  EXPECT_THAT(refusal("udp://10.0.0.1,10.0.0.1"), HasSubstr("udp://10.0.0.1 appears twice"));
  std::string many = "udp://10.0.0.1";
  for (int i = 2; i <= 17; ++i) many += ",10.0.0." + std::to_string(i);
  EXPECT_THAT(refusal(many), HasSubstr("it has 17 entries; allowed: one address, or up to 16"));
}

}  // namespace
}  // namespace tributary::worker
