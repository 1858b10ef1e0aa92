// Tables as `tributary show` prints them.
#include "tools/client/control/table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::client {
namespace {

TEST(Table, AlignsTextLeftAndNumbersRight) {
  const Json rows = Json::parse(
      R"([{"name":"w0","packets":7,"up":true},{"name":"uplink","packets":12345,"up":false}])");
  EXPECT_EQ(render_table(rows),
            "name    packets  up\n"
            "w0            7  yes\n"
            "uplink    12345  no\n");
}

TEST(Table, KeepsKeyOrderAndFillsGaps) {
  const Json rows = Json::parse(R"([{"z":1,"a":"x"},{"z":2,"m":[1,2]},{"a":null,"m":[]}])");
  EXPECT_EQ(render_table(rows),
            "z  a  m\n"
            "1  x  -\n"
            "2  -  1,2\n"
            "-  -  -\n");
}

TEST(Table, ShowsRunsOfNumbersAsRanges) {
  const Json rows = Json::parse(R"([{"ranks":[0,1,2,3,7,9,10]},{"ranks":[5]},{"ranks":[4,3,2]}])");
  EXPECT_EQ(render_table(rows), "ranks\n0-3,7,9,10\n5\n4,3,2\n");
}

TEST(Table, ShowsFractionsToAThousandth) {
  EXPECT_EQ(render_table(Json::parse(R"([{"open_ms":1.23456},{"open_ms":100.0}])")),
            "open_ms\n  1.235\n100.000\n");
}

TEST(Table, SaysWhenThereIsNothing) {
  EXPECT_EQ(render_table(Json::array(), "no slots"), "no slots\n");
}

TEST(Table, ControlCharactersDoNotReachTheTerminal) {
  const Json rows = Json::parse(R"([{"na\u001bme":"a\u001b[2Jb\n"}])");
  EXPECT_EQ(render_table(rows), "na?me\na?[2Jb?\n");
}

TEST(Table, WidthCountsCharactersNotBytes) {
  const Json rows = Json::parse(R"([{"a":"é","b":"x"},{"a":"ee","b":"y"}])");
  EXPECT_EQ(render_table(rows), "a   b\né   x\nee  y\n");
}

TEST(Table, RefusesOtherShapes) {
  for (const char* text : {"1", "{}", "[1]", "[[1]]", "null"})
    EXPECT_THROW(render_table(Json::parse(text)), std::runtime_error) << text;
}

}  // namespace
}  // namespace tributary::client
