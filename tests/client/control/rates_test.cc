// Growth of a table's numbers, as `tributary show --every` prints it.
#include "tools/client/control/rates.h"

#include <gtest/gtest.h>

namespace tributary::client {
namespace {

TEST(Rates, SayHowFastWhatGrewGrows) {
  const Json before = Json::parse(R"([{"port":"w0","link":"up","rx":100,"tx":5,"mtu":1500}])");
  const Json now = Json::parse(R"([{"port":"w0","link":"up","rx":1100,"tx":6,"mtu":1500}])");
  EXPECT_EQ(
      with_rates(before, now, 2.0),
      Json::parse(R"([{"port":"w0","link":"up","rx":"1100 +500/s","tx":"6 +0.5/s","mtu":1500}])"));
}

TEST(Rates, WhatFellOrIsNoWholeNumberStaysAsItIs) {
  const Json before = Json::parse(R"([{"job":1,"held":9,"open_ms":1.5,"ranks":[1]}])");
  const Json now = Json::parse(R"([{"job":1,"held":3,"open_ms":2.5,"ranks":[1,2]}])");
  EXPECT_EQ(with_rates(before, now, 1.0), now);
}

TEST(Rates, AnotherRowAtThePlaceIsNotCompared) {
  const Json before = Json::parse(R"([{"job":1,"n":1},{"job":2,"state":"idle","n":1}])");
  const Json now = Json::parse(R"([{"job":3,"n":2},{"job":2,"state":"runs","n":2},{"job":4}])");
  EXPECT_EQ(with_rates(before, now, 1.0), now);
}

TEST(Rates, OfNoTableThereAreNone) {
  EXPECT_EQ(with_rates(Json("a"), Json("b"), 1.0), Json("b"));
  const Json odd = Json::parse(R"([1, {}, "x"])");
  EXPECT_EQ(with_rates(odd, odd, 1.0), odd);
  const Json now = Json::parse(R"([{"a":"x","n":2}])");
  EXPECT_EQ(with_rates(Json::parse(R"([{"a":"x","n":1}])"), now, 0.0), now);
}

}  // namespace
}  // namespace tributary::client
