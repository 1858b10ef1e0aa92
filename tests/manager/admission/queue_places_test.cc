#include "manager/admission/queue_places.h"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

class QueuePlacesTest : public testing::Test {
 protected:
  // Jobs that the tenant brings until it is refused.
  int taken(const std::string& tenant) {
    int count = 0;
    for (; places.none_for(tenant, tenants).empty(); ++count) places.take(tenant);
    return count;
  }

  const Tenants tenants{{{.name = "a"}, {.name = "b", .weight = 2}, {.name = "c"}}};
  QueuePlaces places{8};
};

TEST_F(QueuePlacesTest, GoByWeight) {
  EXPECT_EQ(places.places_of("a", tenants), 2u);
  EXPECT_EQ(places.places_of("b", tenants), 4u);
  EXPECT_EQ(places.places_of("stranger", tenants), 0u);
  EXPECT_EQ(places.places_of("a", Tenants({{.name = "a"}})), 8u);
}

TEST_F(QueuePlacesTest, OfOthersAreKeptWhetherTheyAreTakenOrNot) {
  EXPECT_EQ(taken("a"), 2);
  EXPECT_THAT(places.none_for("a", tenants), testing::HasSubstr("2 jobs of tenant a wait"));
  EXPECT_EQ(taken("b"), 4);
  EXPECT_EQ(taken("c"), 2);
  places.give_back("a");
  EXPECT_EQ(taken("b"), 0);
  EXPECT_EQ(taken("a"), 1);
}

}  // namespace
}  // namespace tributary::manager
