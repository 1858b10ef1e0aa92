#include "telemetry/wire/trailer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry {
namespace {

using namespace test;

constexpr std::uint64_t kSequence = 0x0102030405060708;

// A datagram of one report of a port, and room for a trailer.
Bytes one_report() {
  Report report;
  report.bitmap = kPorts;
  Bytes out(1500);
  ReportWriter writer({0, 1, 9}, out);
  EXPECT_TRUE(writer.add(report, Hop{.node = 9, .egress_port = 3}));
  out.resize(writer.length());
  return out;
}

Bytes signed_report() {
  Bytes out = one_report();
  const std::size_t used = out.size();
  out.resize(used + kTrailerBytes, std::byte{0xCD});
  write_trailer(kSequence, std::span(out).subspan(used));
  return out;
}

TEST(Trailer, C6_HasTheDocumentedBytesBehindTheReports) {
  const Bytes out = signed_report();
  const std::size_t reports = one_report().size();
  EXPECT_EQ(Bytes(out.begin() + static_cast<std::ptrdiff_t>(reports), out.end() - kMacBytes),
            from_hex("020b0000 54520001 0102030405060708"));
  const auto read = read_trailer(out);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequence, kSequence);
  EXPECT_EQ(read->reports.size(), reports);
  EXPECT_EQ(read->covered.size(), out.size() - kMacBytes);
  EXPECT_EQ(read->mac.data(), out.data() + out.size() - kMacBytes);
  EXPECT_EQ(read->mac.size(), kMacBytes);
}

TEST(Trailer, ReadersWithoutAKeyPassOverIt) {
  const Bytes out = signed_report();
  ReportReader reader(out);
  Report report;
  ASSERT_TRUE(reader.next(report));
  EXPECT_FALSE(is_trailer(report));
  ASSERT_TRUE(reader.next(report));
  EXPECT_TRUE(is_trailer(report));
  EXPECT_FALSE(reader.next(report));
  EXPECT_FALSE(reader.malformed());
}

TEST(Trailer, WhatIsCutOrOtherwiseIsNone) {
  const Bytes whole = signed_report();
  EXPECT_FALSE(read_trailer(one_report()));
  EXPECT_FALSE(read_trailer({}));
  EXPECT_FALSE(read_trailer(std::span(whole).first(whole.size() - 1)));
  EXPECT_FALSE(read_trailer(std::span(whole).last(kTrailerBytes + kGroupBytes - 1)));
  for (const std::size_t at : {0, 1, 2, 3, 4, 5, 6, 7}) {
    Bytes bent = whole;
    bent[bent.size() - kTrailerBytes + at] ^= std::byte{1};
    EXPECT_FALSE(read_trailer(bent)) << at;
  }
}

}  // namespace
}  // namespace tributary::telemetry
