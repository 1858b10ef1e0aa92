// Which answers prove that they are the asked range (L1).
#include "pool/store/range_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

constexpr AskedRange kPart{RangeWay::header, 10, 4, 40};
constexpr AskedRange kWhole{RangeWay::header, 0, 40, 40};
constexpr AskedRange kByUrl{RangeWay::url, 10, 4, 40};

bool proven(const AskedRange& asked, const GivenRange& given) {
  return !check_range(asked, given);
}

TEST(PoolRangeProof, L1PartialAnswersMustSayTheAskedRange) {
  EXPECT_TRUE(proven(kPart, {206, "bytes 10-13/40", 4, ""}));
  EXPECT_TRUE(proven(kPart, {206, "bytes 10-13/40", std::nullopt, ""})) << "chunked";
  for (const char* range :
       {"", "bytes 10-13/*", "bytes 9-12/40", "bytes 9-13/40", "bytes 10-14/40", "bytes 10-12/40",
        "bytes */40", "bytes 10-13", "bytes 10-13/40 ", "bytes 10-13/40, bytes 10-13/40",
        "bytes=10-13/40", "items 10-13/40", "bytes -10-13/40", "bytes 10-99999999999999999999/40"})
    EXPECT_FALSE(proven(kPart, {206, range, 4, ""})) << range;
  EXPECT_FALSE(proven(kPart, {206, "bytes 10-13/40", 5, ""}));
}

TEST(PoolRangeProof, L1AnotherSizeIsAnotherObject) {
  const auto problem = check_range(kPart, {206, "bytes 10-13/41", 4, ""});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fault, StoreFault::changed);
  EXPECT_THAT(problem->text, testing::HasSubstr("make the manifest again"));
}

TEST(PoolRangeProof, L1WholeAnswersMustBeTheWholeObject) {
  EXPECT_TRUE(proven(kWhole, {200, "", 40, ""}));
  EXPECT_TRUE(proven(kWhole, {200, "", std::nullopt, ""})) << "its length is counted";
  EXPECT_FALSE(proven(kWhole, {200, "", 41, ""}));
  EXPECT_FALSE(proven(kPart, {200, "", 40, ""})) << "the whole, not the part";
  EXPECT_FALSE(proven(kPart, {200, "", 4, ""}));
  EXPECT_FALSE(proven(kPart, {200, "", std::nullopt, ""}));
  EXPECT_FALSE(proven(kPart, {200, "bytes 0-3/40", 4, ""}));
}

TEST(PoolRangeProof, L1OtherStatusesProveNothing) {
  for (const long status : {201L, 202L, 203L, 204L, 205L, 207L})
    EXPECT_FALSE(proven(kWhole, {status, "", 40, ""})) << status;
}

TEST(PoolRangeProof, L1RangesInTheUrlMustBeThoseOfTheUrlThatAnswers) {
  EXPECT_TRUE(proven(kByUrl, {200, "", 4, "http://d/f?offset=10&length=4"}));
  EXPECT_TRUE(proven(kByUrl, {200, "", std::nullopt, "http://d/f?x=1&length=4&offset=10#part"}));
  EXPECT_TRUE(proven(kByUrl, {206, "bytes 10-13/40", 4, "http://d/f"}));
  EXPECT_FALSE(proven(kByUrl, {200, "", 5, "http://d/f?offset=10&length=4"}));
  EXPECT_FALSE(proven(kByUrl, {200, "", 4, "http://d/f?offset=11&length=4"}));
  EXPECT_FALSE(proven(kByUrl, {200, "", 4, "http://d/f"}));
  EXPECT_FALSE(proven(kByUrl, {206, "", 4, "http://d/f?offset=10&length=4"}));
  EXPECT_FALSE(proven(kByUrl, {200, "bytes 9-12/40", 4, "http://d/f?offset=10&length=4"}));
}

TEST(PoolRangeProof, NumbersOfAQuery) {
  EXPECT_EQ(query_number("http://h/?a=1&bb=2", "bb"), 2u);
  for (const char* url :
       {"http://h/bb=2", "http://h/?b=2", "http://h/?bb", "http://h/?bb=", "http://h/?bb=2x",
        "http://h/?bb=-2", "http://h/?bb=2&bb=2", "http://h/?xbb=2", "http://h/#?bb=2x"})
    EXPECT_EQ(query_number(url, "bb"), std::nullopt) << url;
}

}  // namespace
}  // namespace tributary::pool
