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

TEST(Table, AnObjectIsItsValues) {
  const Json rows = Json::parse(
      R"([{"hops":[{"node":201,"us":1.5},{"node":250,"us":null}]},{"hops":[]},{"hops":{}}])");
  EXPECT_EQ(render_table(rows), "hops\n201:1.500,250:-\n-\n-\n");
}

TEST(Table, ShowsFractionsToAThousandth) {
  EXPECT_EQ(render_table(Json::parse(R"([{"open_ms":1.23456},{"open_ms":100.0}])")),
            "open_ms\n  1.235\n100.000\n");
}

TEST(Table, ShowsWhatIsLessThanAThousandthByItsDigits) {
  EXPECT_EQ(render_table(Json::parse(R"([{"norm":9.3456e-05},{"norm":-0.0004},{"norm":0.0}])")),
            "    norm\n9.35e-05\n -0.0004\n   0.000\n");
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

TEST(Table, FitsByLeavingOutWhatIsQuietThenNumbers) {
  Json rows = Json::parse(
      R"([{"job":1,"name":"a","more":7,"probes":0,"resends":3,"why":"-","ranks":[]},
          {"job":2,"name":"b","more":8,"probes":0,"resends":0,"why":"left","ranks":[]}])");
  const Json whole = rows;
  EXPECT_TRUE(fit(rows, 120).empty());
  EXPECT_EQ(rows, whole);
  EXPECT_EQ(fit(rows, 38), (std::vector<std::string>{"ranks"}));
  EXPECT_EQ(render_table(rows),
            "job  name  more  probes  resends  why\n"
            "  1  a        7       0        3  -\n"
            "  2  b        8       0        0  left\n");
  EXPECT_EQ(fit(rows, 16), (std::vector<std::string>{"probes", "resends", "more"}));
  EXPECT_EQ(render_table(rows), "job  name  why\n  1  a     -\n  2  b     left\n");
  EXPECT_TRUE(fit(rows, 1).empty()) << "texts stay";
  Json none = Json::array();
  EXPECT_TRUE(fit(none, 1).empty());
}

TEST(Table, ColumnsThatAreWanted) {
  const Json rows = Json::parse(R"([{"a":1,"b":2,"c":3},{"a":4,"c":5}])");
  constexpr const char* kKeys[] = {"c", "b"};
  EXPECT_EQ(with_columns(rows, kKeys), Json::parse(R"([{"c":3,"b":2},{"c":5}])"));
}

TEST(Table, RefusesOtherShapes) {
  for (const char* text : {"1", "{}", "[1]", "[[1]]", "null"})
    EXPECT_THROW(render_table(Json::parse(text)), std::runtime_error) << text;
}

}  // namespace
}  // namespace tributary::client
