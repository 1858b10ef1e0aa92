// Decides which datagrams count as reports of registered switches.
//
//   node and source address ─▶ interface ─▶ trailer ─▶ HMAC ─▶ clock ─▶ sequence
//
// Interface: where the node's registration names one. Trailer and what follows: where there is a
// key. A datagram that is refused changes nothing here, a sequence included. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "control/telemetry/report_key.h"
#include "telemetry/table/replay_guard.h"

namespace tributary::telemetryd {

struct Registration {
  std::uint32_t address = 0;   // source of its reports, in network order
  std::string interface = {};  // of this host, through which they come in; empty: any
};
// By node id.
using Registered = std::map<std::uint32_t, Registration>;

enum class Refusal : std::uint8_t {
  unregistered,     // of a node, or from an address, that is not registered
  wrong_interface,  // through another interface than registered
  unsigned_report,  // without a trailer
  forged,           // signed with another key, or changed on the way
  stale,            // sequence too far from this host's clock
  replayed,         // received before, or later than ReplayGuard remembers
};
inline constexpr std::size_t kRefusals = 6;
// As in metrics.
const char* name_of(Refusal refusal);

struct Origin {
  std::uint32_t address = 0;        // in network order
  std::string_view interface = {};  // empty: not known
  std::uint64_t unix_ns = 0;        // when it came, in time since 1970
};

struct Judged {
  std::span<const std::byte> reports;  // group header and reports; empty: refused
  Refusal refusal = Refusal::unregistered;
};

class Admission {
 public:
  // Without a key, signatures are neither asked for nor checked.
  explicit Admission(Registered switches, std::shared_ptr<const control::ReportKey> key = nullptr);

  Judged judge(std::span<const std::byte> datagram, const Origin& origin);
  // True if an interface counts.
  [[nodiscard]] bool needs_interfaces() const { return needs_interfaces_; }

 private:
  const Registered switches_;
  const std::shared_ptr<const control::ReportKey> key_;
  bool needs_interfaces_ = false;
  std::map<std::uint32_t, telemetry::ReplayGuard> guards_;  // of each registered node
};

}  // namespace tributary::telemetryd
