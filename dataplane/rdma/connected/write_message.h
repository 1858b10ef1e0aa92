// Common parts of the responders of connected queue pairs, RC and UC: kinds of requests, packet
// sequence numbers, and the WRITE of one or several packets whose parts arrive.
//
//   FIRST (address, length) ─▶ MIDDLE … ─▶ LAST      or ONLY
//
// Pure; it holds numbers, no data.
#pragma once

#include <cstdint>

#include "core/net/roce.h"
#include "dataplane/rdma/connected/op_window.h"

namespace tributary::dataplane {

// Packet sequence numbers have 24 bits.
constexpr std::int32_t psn_diff(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}
constexpr std::uint32_t psn_after(std::uint32_t psn, std::uint32_t packets = 1) {
  return (psn + packets) & wire::kMaxQpn;
}
constexpr std::uint32_t psn_before(std::uint32_t psn) {
  return (psn - 1) & wire::kMaxQpn;
}

inline wire::RoceOperation operation_of(const wire::RoceView& view) {
  return static_cast<wire::RoceOperation>(view.bth.opcode & 0x1F);
}
constexpr bool is_write(wire::RoceOperation op) {
  return op >= wire::RoceOperation::write_first && op <= wire::RoceOperation::write_only_immediate;
}
// True for the last packet of a WRITE.
constexpr bool ends_write(wire::RoceOperation op) {
  return op != wire::RoceOperation::write_first && op != wire::RoceOperation::write_middle;
}

enum class RequestKind : std::uint8_t {
  write,            // data for the window: `address`
  nothing,          // a WRITE without data: the rank lives
  duplicate,        // taken before, or on UC overtaken as well
  gap,              // a packet before it is missing, or the beginning of its message
  waiting,          // RC: the same, and the NAK is on its way
  invalid_request,  // another operation than WRITE, or lengths that do not fit
  access_error,     // another rkey, or outside the window
};
struct RequestStep {
  RequestKind what = RequestKind::write;
  std::uint64_t address = 0;
};

class WriteMessage {
 public:
  explicit WriteMessage(std::uint32_t path_mtu = 0) : path_mtu_(path_mtu) {}

  // True between a FIRST that was taken and its LAST.
  [[nodiscard]] bool is_open() const { return open_; }
  // Says what this packet of a WRITE is: the beginning of one, or the next of the open one.
  [[nodiscard]] RequestStep look(const wire::RoceView& view, const WindowTerms& terms) const;
  void taken(const wire::RoceView& view, std::uint64_t address);
  // Its other packets are not taken.
  void discard() { open_ = false; }

 private:
  std::uint32_t path_mtu_;
  bool open_ = false;
  std::uint64_t next_address_ = 0;
  std::uint32_t left_ = 0;
};

}  // namespace tributary::dataplane
