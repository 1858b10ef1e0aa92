// Manifests as main's program in Python writes them, and bad ones.
#include "worker/task/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::task {
namespace {

using ::testing::HasSubstr;

const std::string kDigest(64, 'a');

Manifest parse(const std::string& text) {
  return parse_manifest(std::as_bytes(std::span(text.data(), text.size())));
}
std::string manifest(const std::string& changes) {
  return R"({"tributary_task": 1, "length": 5, "sha256": ")" + kDigest +
         R"(", "piece_bytes": 2, "keep": "sum", "criterion": {"most_rounds": 3}, "metadata": )" +
         changes + "}";
}

TEST(Manifest, C3SaysWhatMainStates) {
  const Manifest found = parse(manifest(R"({"rate": 0.5}, "publish": "grad")"));
  EXPECT_EQ(found.length, 5u);
  EXPECT_EQ(found.digest, kDigest);
  EXPECT_EQ(found.piece_bytes, 2u);
  EXPECT_EQ(found.keep, "sum");
  EXPECT_EQ(found.publish, "grad");
  EXPECT_EQ(found.criterion.most_rounds, 3u);
  EXPECT_EQ(found.metadata, R"({"rate":0.5})");
  EXPECT_FALSE(found.cache);
  EXPECT_EQ(parse(manifest("null")).publish, "");
}

TEST(Manifest, C3WhatIsWrittenReadsBack) {
  Manifest stated = parse(manifest(R"({"rate": 0.5})"));
  stated.criterion.norm_below = 1e-4;
  stated.keep = "both";
  stated.publish = "grad.1";
  stated.cache = true;
  const Manifest back = parse(write_manifest(stated));
  EXPECT_EQ(back.length, stated.length);
  EXPECT_EQ(back.criterion.norm_below, 1e-4);
  EXPECT_EQ(back.metadata, stated.metadata);
  EXPECT_EQ(back.keep, "both");
  EXPECT_EQ(back.publish, "grad.1");
  EXPECT_TRUE(back.cache);
  stated.metadata = "{";
  EXPECT_THROW(write_manifest(stated), std::invalid_argument);
  stated.metadata = '"' + std::string(kMostManifest, 'x') + '"';
  EXPECT_THROW(write_manifest(stated), std::invalid_argument);
}

std::string refusal(const Manifest& stated) {
  try {
    write_manifest(stated);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Manifest, C3WhatNoTaskMayBeIsRefusedWithWhatIsAllowed) {
  Manifest stated = parse(manifest("null"));
  stated.keep = "worker";
  EXPECT_EQ(refusal(stated), "");
  stated.publish = "grad";
  EXPECT_THAT(refusal(stated), HasSubstr("publish names a sum; allowed: keep 'sum' or 'both'"));
  stated.publish = "";
  stated.criterion.norm_below = 1;
  EXPECT_THAT(refusal(stated), HasSubstr("the norm of a sum; allowed: keep 'sum' or 'both'"));
  stated.keep = "all";
  EXPECT_EQ(refusal(stated), "keep is 'all'; allowed: sum, worker, both");
  stated.keep = "sum";
  for (const std::string bad : {"a/b", "1a", ".", "a b", "\xe4"}) {
    stated.publish = bad;
    EXPECT_THAT(refusal(stated), HasSubstr("allowed: up to 64 letters")) << bad;
  }
  stated.publish = std::string(64, 'x');
  EXPECT_EQ(refusal(stated), "");
  stated.publish += 'x';
  EXPECT_NE(refusal(stated), "");
}

TEST(Manifest, BadOnesAreRefused) {
  const std::string good = manifest("null");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"_task\": 1", "_task\": 2"},
                                                        {"5", "-5"},
                                                        {"5", "9223372036854775807"},
                                                        {"aaa", "AAA"},
                                                        {"aaa", "aa"},
                                                        {"bytes\": 2", "bytes\": 0"},
                                                        {"\"sum\"", "7"},
                                                        {"most_rounds", "m"},
                                                        {"metadata", "data"},
                                                        {"{", "["}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_THROW(parse(bad), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace tributary::task
