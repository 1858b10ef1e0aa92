// Frames, reports and IOAM packets of strangers: a frame with telemetry is put back as it was, what
// is refused is untouched, and no view reaches beyond what it was made from.
#include <algorithm>
#include <vector>

#include "telemetry/wire/int_md.h"
#include "telemetry/wire/ioam.h"
#include "telemetry/wire/path_of.h"
#include "telemetry/wire/trailer.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace telemetry;

constexpr std::size_t kRoom = 128;

Marking marking_of(Input& input) {
  Marking marking;
  marking.udp_port = input.u16();
  if (input.flag()) marking.dscp = static_cast<std::uint8_t>(input.u8() & 0x3F);
  return marking;
}

bool same(const std::vector<std::byte>& a, const Frame& b) {
  return std::ranges::equal(a, b.bytes());
}

void check_frame(Input& input) {
  const Marking marking = marking_of(input);
  const std::uint16_t bitmap = input.u16();
  const std::uint8_t hops = input.u8();
  const std::size_t mtu = input.u16();
  const std::vector<std::byte> original = input.block(input.size());
  std::vector<std::byte> buffer = original;
  buffer.resize(original.size() + kRoom);
  Frame frame{buffer, original.size(), mtu};
  Taken taken;
  IntView view;
  if (insert_int(frame, marking, bitmap, hops, {}) == Outcome::done) {
    FUZZ_CHECK(frame.length <= buffer.size());
    const bool pushed = push_hop(frame, marking, {}) == Outcome::done;
    FUZZ_CHECK(strip_int(frame, marking, taken, view) == Outcome::done);
    FUZZ_CHECK(view.hops() == (pushed ? 2u : 1u));
    FUZZ_CHECK(same(original, frame));
    return;
  }
  FUZZ_CHECK(same(original, frame));
  if (strip_int(frame, marking, taken, view) == Outcome::done) {
    FUZZ_CHECK(frame.length + view.bytes() == original.size());
    for (std::size_t i = 0; i < view.hops(); ++i) static_cast<void>(view.hop(i));
    return;
  }
  FUZZ_CHECK(same(original, frame));
  const Outcome outcome = push_hop(frame, marking, {});
  FUZZ_CHECK(outcome == Outcome::done || frame.length == original.size());
}

// A trailer splits the datagram, is written as it was read, and is a report to those without a key.
void check_trailer(const std::vector<std::byte>& datagram) {
  const auto read = read_trailer(datagram);
  if (!read) return;
  FUZZ_CHECK(read->reports.size() >= kGroupBytes);
  FUZZ_CHECK(read->reports.size() + kTrailerBytes == datagram.size());
  FUZZ_CHECK(read->covered.size() + read->mac.size() == datagram.size());
  std::vector<std::byte> again = datagram;
  write_trailer(read->sequence, std::span(again).last(kTrailerBytes));
  FUZZ_CHECK(again == datagram);
  std::vector<std::byte> alone(datagram.begin(), datagram.begin() + kGroupBytes);
  alone[0] = std::byte{0x20};
  alone.insert(alone.end(), datagram.end() - kTrailerBytes, datagram.end());
  ReportReader reader(alone);
  Report report;
  FUZZ_CHECK(reader.next(report) && is_trailer(report) && !reader.next(report));
  FUZZ_CHECK(!reader.malformed());
}

void check_report(Input& input) {
  const Marking marking = marking_of(input);
  const std::vector<std::byte> datagram = input.block(input.size());
  ReportReader reader(datagram);
  std::vector<std::byte> again(datagram.size() + kRoom);
  std::size_t read = 0;
  for (Report report; reader.next(report); ++read) {
    FUZZ_CHECK(reader.group());
    FUZZ_CHECK(report.own.size() + report.inner.size() < datagram.size());
    ReportedPath path;
    path_of(report, reader.group()->node, marking, path);
    FUZZ_CHECK(path.count <= kMostHops);
    if (report.type != ReportType::in_band || report.domain_bitmap != 0) continue;
    if (report.own.size() != std::size_t{words_of(report.bitmap)} * 4) continue;
    ReportWriter writer(*reader.group(), again);
    if (!writer.add(report, report.hop(reader.group()->node))) continue;
    ReportReader second{std::span(again).first(writer.length())};
    Report same;
    FUZZ_CHECK(second.group() == reader.group());
    FUZZ_CHECK(second.next(same) && same.bitmap == report.bitmap);
    FUZZ_CHECK(same.hop(1) == report.hop(1));
    FUZZ_CHECK(std::equal(report.inner.begin(), report.inner.end(), same.inner.begin()));
  }
  FUZZ_CHECK(read * kReportHeaderBytes <= datagram.size());
  check_trailer(datagram);
}

void check_ioam(Input& input) {
  IoamNode node;
  node.name_space = input.u16();
  const std::vector<std::byte> original = input.block(input.size());
  std::vector<std::byte> packet = original;
  const IoamOutcome outcome = fill_ioam_trace(packet, node, {});
  const bool may_change = outcome == IoamOutcome::filled || outcome == IoamOutcome::full;
  FUZZ_CHECK(may_change || packet == original);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  Input input(data, size);
  switch (input.below(3)) {
    case 0: check_frame(input); break;
    case 1: check_report(input); break;
    default: check_ioam(input); break;
  }
  return 0;
}
