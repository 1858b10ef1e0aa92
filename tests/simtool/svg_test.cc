#include "tools/sim/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::simtool {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Svg, EscapesTextAndEndsTheDocument) {
  Svg svg(200, 100);
  svg.text({10, 20}, "p50 < 5 & p99 > 7", Anchor::end);
  svg.polyline({{0, 0}, {1.25, 2}}, "#000");
  const std::string text = svg.str();
  EXPECT_THAT(text, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(text, HasSubstr("text-anchor=\"end\""));
  EXPECT_THAT(text, HasSubstr(">p50 &lt; 5 &amp; p99 &gt; 7</text>"));
  EXPECT_THAT(text, HasSubstr("points=\"0.00,0.00 1.25,2.00 \""));
  EXPECT_TRUE(text.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace tributary::simtool
