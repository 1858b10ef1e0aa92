#include "core/drop_reason.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace tributary {
namespace {

TEST(DropReason, LabelsAreUniqueMetricLabelsWithAText) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  std::set<std::string> labels;
  std::set<std::string> texts;
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    const auto r = static_cast<DropReason>(i);
    const std::string label = drop_label(r);
    EXPECT_TRUE(!label.empty() && std::all_of(label.begin(), label.end(), fits)) << label;
    EXPECT_FALSE(std::string(drop_text(r)).empty());
    labels.insert(label);
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
