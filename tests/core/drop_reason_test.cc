#include "core/drop_reason.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace tributary {
namespace {

TEST(DropReason, LabelsAreUniqueMetricLabelsWithAText) {
  const std::regex metric_label("[a-z][a-z0-9]*(-[a-z0-9]+)*");
  std::set<std::string> labels;
  std::set<std::string> texts;
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    const auto r = static_cast<DropReason>(i);
    EXPECT_TRUE(std::regex_match(drop_label(r), metric_label)) << drop_label(r);
    EXPECT_FALSE(std::string(drop_text(r)).empty());
    labels.insert(drop_label(r));
    texts.insert(drop_text(r));
  }
  EXPECT_EQ(labels.size(), kDropReasonCount);
  EXPECT_EQ(texts.size(), kDropReasonCount);
}

TEST(DropReason, LabelBelongsToItsEnumerator) {
  EXPECT_STREQ(drop_label(DropReason::frame_truncated), "frame-truncated");
  EXPECT_STREQ(drop_label(DropReason::crc32c), "crc32c");
  EXPECT_STREQ(drop_label(DropReason::no_egress), "no-egress");
}

TEST(DropCounters, CountUnderTheirReasonAndInTotal) {
  DropCounters c;
  EXPECT_EQ(c.total(), 0u);
  c.add(DropReason::mtu);
  c.add(DropReason::mtu, 2);
  c.add(DropReason::checksum);
  EXPECT_EQ(c.get(DropReason::mtu), 3u);
  EXPECT_EQ(c.get(DropReason::checksum), 1u);
  EXPECT_EQ(c.get(DropReason::no_egress), 0u);
  EXPECT_EQ(c.total(), 4u);
}

}  // namespace
}  // namespace tributary
