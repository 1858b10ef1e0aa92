// A host on a port of its own that means harm: it replays what it overheard, speaks for other
// ranks, for other epochs, in broken frames and in noise. To ranks it speaks for their switch, and
// for the host that notifies them: bare, behind tags of VLAN 0, and in fragments.
//
// It knows all that passes the switch, which is more than a real one could, but it can't send from
// another's port: a sender on the same port and with the same addresses as a worker is
// indistinguishable from it in a protocol without authentication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/prng.h"
#include "sim/network/draft.h"
#include "sim/node/node.h"
#include "sim/node/switch_node.h"
#include "sim/scenario/fault_kind.h"

namespace tributary::sim {

class HostileObserver {
 public:
  virtual ~HostileObserver() = default;
  virtual void on_hostile(FaultKind kind, const FrameRef& frame) = 0;
};

struct HostileOptions {
  std::uint32_t packets = 0;
  Duration span;  // over which they are spread
  std::uint64_t seed = 0;
  wire::MacAddress mac{};
  std::uint32_t ipv4 = 0;
  wire::MacAddress switch_mac{};
  std::uint32_t switch_ipv4 = 0;
  std::uint16_t udp_base_port = 0;
};

class HostileNode : public Node {
 public:
  HostileNode(const HostileOptions& options, const SwitchNode& victim, HostileObserver& observer);

  void start(Instant now) override { next_at_ = now; }
  void crash() override { next_at_ = Instant::max(); }
  void on_frame(std::uint16_t, const FrameRef&, Instant) override {}
  void on_wake(Instant now) override;
  [[nodiscard]] Instant next_wakeup() const override { return next_at_; }
  [[nodiscard]] std::string waiting_for(Instant) const override { return "does harm"; }

 private:
  void act();
  void impersonate();
  void hide(std::vector<std::byte>& bytes);
  void emit(FaultKind kind, FrameRef frame);
  // A packet that another node sent lately; nullptr when there is none.
  [[nodiscard]] const FrameRef* overheard();
  FrameRef own(const Draft& draft);
  FrameRef noise();
  FrameRef ethernet_oddity(const FrameRef& base);
  void ask_as_stranger(const Draft& base);
  void flood(const Draft& base);
  void replay_all();

  HostileOptions options_;
  const SwitchNode& victim_;
  HostileObserver& observer_;
  Prng random_;
  Prng disguise_;  // apart, so that the other attacks stay as they were
  std::uint32_t sent_ = 0;
  Instant next_at_ = Instant::max();
};

// Number of ways in which damage() can break a frame.
std::uint32_t damage_kinds();
// Breaks a copy of an untagged frame with an aggregation packet in a way that the wire or
// integrity checks must notice.
FrameRef damage(FramePool& pool, const FrameRef& frame, std::uint32_t kind);

// Bends a member's own contribution so that the switch must refuse it without a reply.
Draft bend(const Draft& contribution, const config::JobConfig& job, Prng& random);

}  // namespace tributary::sim
