#include "sim/network/trace.h"

#include <array>
#include <cstdio>

#include "sim/network/packet_view.h"

namespace tributary::sim {

std::string time_text(Instant at) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%14.6f ms", static_cast<double>(at.to_ns()) * 1e-6);
  return text.data();
}

void Trace::say(Instant at, const std::string& text) {
  if (sink_) sink_(time_text(at) + "  " + text);
}

std::string describe_frame(std::span<const std::byte> frame) {
  const std::string size = std::to_string(frame.size()) + " bytes";
  const auto packet = view_packet(frame);
  if (!packet) return "frame of " + size;
  const wire::Header& h = packet->header;
  std::string text = wire::name_of(h.type);
  const auto add = [&](const char* name, std::uint64_t value) {
    text += std::string(" ") + name + " " + std::to_string(value);
  };
  add("job", h.job);
  add("epoch", h.epoch);
  switch (h.type) {
    case wire::PacketType::contribution:
    case wire::PacketType::probe: add("rank", h.origin); [[fallthrough]];
    case wire::PacketType::result:
    case wire::PacketType::pending:
    case wire::PacketType::unknown:
      add("op", h.op);
      add("chunk", h.chunk);
      [[fallthrough]];
    case wire::PacketType::ack:
      add("shard", h.shard);
      add("seq", h.seq);
      break;
    case wire::PacketType::nack:
    case wire::PacketType::abort: text += std::string(" ") + wire::name_of(h.reason); break;
    default: add("rank", h.origin);
  }
  if ((h.flags & wire::kFlagResend) != 0) text += " resend";
  if (!packet->payload.empty())
    text += ", " + std::to_string(h.element_count) + " " + wire::name_of(h.dtype);
  return text;
}

}  // namespace tributary::sim
