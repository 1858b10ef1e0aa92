#include "tools/client/control/slot_summary.h"

#include <gtest/gtest.h>

namespace tributary::client {
namespace {

TEST(SlotSummary, ChunksOfAnOpInOneStateAreOneRow) {
  const Json rows = Json::parse(R"([
      {"job":1,"plane":0,"op":7,"chunk":0,"state":"open","open_ms":2.5,"missing":[3,1]},
      {"job":1,"plane":0,"op":7,"chunk":1,"state":"open","open_ms":4.5,"missing":[2]},
      {"job":1,"plane":0,"op":7,"chunk":2,"state":"sent","open_ms":1.0,"missing":[]},
      {"job":1,"plane":0,"op":8,"chunk":0,"state":"open","open_ms":0.5,"missing":[1]},
      {"job":1,"plane":0,"op":7,"chunk":3,"state":"open","open_ms":3.0,"missing":[1]}])");
  EXPECT_EQ(sum_up_slots(rows), Json::parse(R"([
      {"job":1,"plane":0,"op":7,"state":"open","chunks":3,"oldest_ms":4.5,"missing":[1,2,3]},
      {"job":1,"plane":0,"op":7,"state":"sent","chunks":1,"oldest_ms":1.0,"missing":[]},
      {"job":1,"plane":0,"op":8,"state":"open","chunks":1,"oldest_ms":0.5,"missing":[1]}])"));
}

TEST(SlotSummary, OtherDataStaysAsItIs) {
  EXPECT_EQ(sum_up_slots(Json::array()), Json::array());
  EXPECT_EQ(sum_up_slots(Json("text")), Json("text"));
  EXPECT_EQ(sum_up_slots(Json::parse("[1]")), Json::parse("[1]"));
}

}  // namespace
}  // namespace tributary::client
