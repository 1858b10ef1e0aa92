// Writes frames with telemetry and reports for a decoder that knows the specifications alone:
// a line each of KIND, ipv6, VLAN tags, hops, 1 where DSCP marks, then bytes in hex: of the frame
// before, with telemetry, and with telemetry taken out; or of a report.
//
//   telemetry_tool ioam HEX   fills the IOAM trace of an IPv6 packet: the outcome, and the packet
#include <cstdio>
#include <string>
#include <string_view>

#include "telemetry/wire/ioam.h"
#include "telemetry/wire/report.h"
#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry {
namespace {

using namespace test;

constexpr std::uint16_t kBitmap = kKnownInstructions & ~kChecksumComplement;

Hop hop_of(std::uint32_t node) {
  Hop hop;
  hop.node = node;
  hop.ingress_port = static_cast<std::uint16_t>(node * 2);
  hop.egress_port = static_cast<std::uint16_t>(node * 2 + 1);
  hop.latency_ns = node * 1000;
  hop.queue = static_cast<std::uint8_t>(node);
  hop.queue_occupancy = node * 100;
  hop.ingress_ns = std::uint64_t{node} << 40;
  hop.egress_ns = hop.ingress_ns + hop.latency_ns;
  hop.ingress_wide = node + 70000;
  hop.egress_wide = node + 80000;
  hop.utilisation_ppm = node * 10'000;
  hop.buffer = node;
  return hop;
}

void print(std::span<const std::byte> bytes) {
  std::putchar(' ');
  for (const std::byte b : bytes) std::printf("%02x", std::to_integer<unsigned>(b));
}

bool print_frame(const FrameForm& form, std::uint32_t hops, const Marking& marking) {
  const Bytes original = make_frame(form);
  Buffer buffer(original);
  if (insert_int(buffer.view, marking, kBitmap, 8, hop_of(1)) != Outcome::done) return false;
  for (std::uint32_t node = 2; node <= hops; ++node)
    if (push_hop(buffer.view, marking, hop_of(node)) != Outcome::done) return false;
  std::printf("frame %d %u %u %d", form.ipv6, form.tags, hops, marking.dscp.has_value());
  print(original);
  print(buffer.now());
  Bytes report_bytes(1500);
  ReportWriter writer({5, 77, 99}, report_bytes);
  Report report;
  report.bitmap = kBitmap & static_cast<std::uint16_t>(~kNodeId);
  report.inner_type = form.ipv6 ? InnerType::ipv6 : InnerType::ipv4;
  report.tracked = true;
  const std::size_t ip = 14 + form.tags * std::size_t{4};
  const Bytes frame = buffer.now();
  report.inner = std::span(frame).subspan(ip);
  const bool fits = writer.add(report, hop_of(99));
  Taken taken;
  IntView view;
  if (strip_int(buffer.view, marking, taken, view) != Outcome::done) return false;
  print(buffer.now());
  std::printf("\n");
  if (!fits) return false;
  std::printf("report %d %u %u %d", form.ipv6, form.tags, hops, marking.dscp.has_value());
  print(std::span(report_bytes).first(writer.length()));
  std::printf("\n");
  return true;
}

bool print_all() {
  for (const bool ipv6 : {false, true})
    for (unsigned tags = 0; tags <= 2; ++tags)
      for (std::uint32_t hops = 1; hops <= 8; ++hops)
        for (const bool by_dscp : {false, true}) {
          Marking marking;
          if (by_dscp) marking.dscp = 0x17;
          if (!print_frame({.ipv6 = ipv6, .tags = tags, .payload = 33}, hops, marking))
            return false;
        }
  return true;
}

const char* name_of(IoamOutcome outcome) {
  switch (outcome) {
    case IoamOutcome::filled: return "filled";
    case IoamOutcome::absent: return "absent";
    case IoamOutcome::foreign: return "foreign";
    case IoamOutcome::full: return "full";
    case IoamOutcome::malformed: break;
  }
  return "malformed";
}

// A node of which the rest is not known.
void print_ioam(std::string_view hex) {
  Bytes packet = from_hex(hex);
  Hop hop;
  hop.ingress_port = 1;
  hop.egress_port = 2;
  hop.ingress_wide = 70001;
  hop.egress_wide = 70002;
  std::printf("%s", name_of(fill_ioam_trace(packet, {123, 0xABCDEF, 0x11223344556677, 5, 6}, hop)));
  print(packet);
  std::printf("\n");
}

}  // namespace
}  // namespace tributary::telemetry

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "ioam") {
    tributary::telemetry::print_ioam(argv[2]);
    return 0;
  }
  return tributary::telemetry::print_all() ? 0 : 1;
}
