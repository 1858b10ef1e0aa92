// A pcapng file with an interface for each port; a dropped frame's comment says why.
#include <time.h>

#include "control/capture/capture_format.h"
#include "control/capture/pcapng.h"

namespace tributary::control {
namespace {

using dataplane::CapturedFrame;
using dataplane::CapturePoint;

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

// The loop's time counts from the machine's start, as the monotonic clock does.
std::uint64_t since_1970(Instant when) {
  static const std::int64_t offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  return static_cast<std::uint64_t>(when.to_ns() + offset);
}

class PcapngFormat : public CaptureFormat {
 public:
  PcapngFormat(std::vector<std::string> ports, std::uint32_t snap)
      : ports_(std::move(ports)), snap_(snap) {}

  void begin(std::string& out) override {
    pcapng_section(out, std::string("tributary-switchd ") + TRIBUTARY_VERSION);
    for (const std::string& name : ports_) pcapng_interface(out, name, snap_);
  }

  void add(std::string& out, std::size_t, const CapturedFrame& frame,
           std::span<const std::byte> bytes) override {
    using enum PcapngPacket::Direction;
    PcapngPacket packet;
    packet.interface = frame.port;
    packet.when_ns = since_1970(frame.when);
    packet.length = frame.length;
    packet.bytes = bytes;
    packet.direction = frame.point == CapturePoint::tx ? outbound : inbound;
    std::string comment;
    if (frame.point == CapturePoint::drop) {
      packet.direction = unknown;
      comment =
          std::string("dropped: ") + drop_label(frame.reason) + ": " + drop_text(frame.reason);
      packet.comment = comment;
    }
    pcapng_packet(out, packet);
  }

  void end(std::string& out, std::uint64_t missed, const std::string& why) override {
    pcapng_losses(out, 0, static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)), missed,
                  why.empty() ? "" : kEnded + why);
  }

 private:
  std::vector<std::string> ports_;
  std::uint32_t snap_;
};

}  // namespace

std::unique_ptr<CaptureFormat> pcapng_format(std::vector<std::string> ports, std::uint32_t snap) {
  return std::make_unique<PcapngFormat>(std::move(ports), snap);
}

}  // namespace tributary::control
