#include "dataplane/telemetry/ioam_frame.h"

#include "core/net/frame.h"
#include "dataplane/telemetry/marked.h"

namespace tributary::dataplane {
namespace {

constexpr unsigned kHopByHop = 0;
constexpr std::size_t kNextHeaderAt = 6;

}  // namespace

bool may_have_trace(std::span<const std::byte> frame) {
  const FrameWords words(frame);
  const std::size_t type = type_behind_tags(words);
  return words.size() >= type + 2 + wire::kIpv6Bytes && words.u16(type) == wire::kEtherTypeIpv6 &&
         words.u8(type + 2 + kNextHeaderAt) == kHopByHop;
}

telemetry::IoamOutcome fill_trace(std::span<std::byte> frame, std::uint16_t name_space,
                                  const telemetry::Hop& hop) {
  if (!may_have_trace(frame)) return telemetry::IoamOutcome::absent;
  telemetry::IoamNode node;
  node.name_space = name_space;
  node.id = hop.node;
  node.wide_id = hop.node;
  return telemetry::fill_ioam_trace(frame.subspan(type_behind_tags(FrameWords(frame)) + 2), node,
                                    hop);
}

}  // namespace tributary::dataplane
