#include "dataplane/telemetry/ioam_frame.h"

#include "core/net/frame.h"
#include "dataplane/telemetry/marked.h"

namespace tributary::dataplane {
namespace {

constexpr unsigned kHopByHop = 0;
constexpr std::size_t kNextHeaderAt = 6;

// The IPv6 packet of a frame that may have a trace.
template <typename Byte>
std::span<Byte> packet_of(std::span<Byte> frame) {
  return frame.subspan(type_behind_tags(FrameWords(frame)) + 2);
}

}  // namespace

bool may_have_trace(std::span<const std::byte> frame) {
  const FrameWords words(frame);
  const std::size_t type = type_behind_tags(words);
  return words.size() >= type + 2 + wire::kIpv6Bytes && words.u16(type) == wire::kEtherTypeIpv6 &&
         words.u8(type + 2 + kNextHeaderAt) == kHopByHop;
}

telemetry::IoamOutcome judge_trace(std::span<const std::byte> frame, std::uint16_t name_space) {
  return may_have_trace(frame) ? telemetry::judge_ioam_trace(packet_of(frame), name_space)
                               : telemetry::IoamOutcome::absent;
}

telemetry::IoamOutcome fill_trace(std::span<std::byte> frame, std::uint16_t name_space,
                                  const telemetry::Hop& hop) {
  if (!may_have_trace(frame)) return telemetry::IoamOutcome::absent;
  telemetry::IoamNode node;
  node.name_space = name_space;
  node.id = hop.node;
  node.wide_id = hop.node;
  return telemetry::fill_ioam_trace(packet_of(frame), node, hop);
}

}  // namespace tributary::dataplane
