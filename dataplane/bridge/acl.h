// Access control on every received frame, aggregation included: a burst at a time, by rte_acl.
//
//   frame ─▶ key ─▶ rules for IPv4, for IPv6, or for the rest ─▶ allow or deny, counted by rule
//
// Each of the three tables has all rules that can match such frames, in their order, so the first
// that matches decides. Tables are built at construction; nothing is allocated later.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/drop_reason.h"
#include "dataplane/bridge/acl_key.h"
#include "dataplane/frame/frame_pool.h"
#include "dataplane/frame/vlan.h"

struct rte_acl_ctx;
struct rte_mbuf;

namespace tributary::dataplane {

class Acl {
 public:
  // Throws std::runtime_error when there is no memory for the tables.
  Acl(const config::SwitchConfig& config, const VlanTable& vlans);
  ~Acl();
  Acl(const Acl&) = delete;
  Acl& operator=(const Acl&) = delete;

  // Takes over the other's rules and counters, and gives its own: both judge by one VlanTable.
  // A thread that reads this one's counters meanwhile goes on reading those that the other gets.
  void swap(Acl& other) noexcept;

  // True if there are no rules: all is allowed, and classify() need not be called.
  [[nodiscard]] bool idle() const { return idle_; }
  // At most kBurst frames that came in through a port.
  void classify(std::uint16_t port, std::span<rte_mbuf* const> burst);
  // Returns why the i-th frame of that burst is dropped; none if it may pass.
  [[nodiscard]] DropReason verdict(std::size_t i) const { return verdicts_[i]; }
  // True if some rule watches. Telemetry then reports one in so many frames like the i-th of that
  // burst; 0: none.
  [[nodiscard]] bool watches() const { return watches_; }
  [[nodiscard]] std::uint32_t watch(std::size_t i) const { return watch_[i]; }

  // Read by any thread, while the configuration is held: a swap that is late may come at any time,
  // but what it replaces stays until then. Frames that a rule decided on, by its place; at the end
  // those of the default.
  [[nodiscard]] const std::vector<Counter>& hits() const {
    return *shown_hits_.load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t kKinds = 3;
  // Frames of a burst for one table.
  struct Batch {
    rte_acl_ctx* table = nullptr;  // none: no rule can match
    std::array<const std::uint8_t*, kBurst> keys{};
    std::array<std::uint8_t, kBurst> frames{};
    std::uint32_t count = 0;
  };

  void read(std::uint16_t port, const rte_mbuf* frame, std::size_t i);
  void decide(Batch& batch);

  const VlanTable& vlans_;
  bool idle_;
  struct Verdict {
    config::AclAction action = config::AclAction::allow;
    std::uint32_t watch = 0;
  };
  bool watches_ = false;
  std::vector<Verdict> rules_;  // as hits_
  std::unique_ptr<std::vector<Counter>> hits_;
  std::atomic<const std::vector<Counter>*> shown_hits_;  // the same, for other threads
  std::array<Batch, kKinds> batches_;
  std::array<AclKey, kBurst> keys_;
  std::array<DropReason, kBurst> verdicts_{};
  std::array<std::uint32_t, kBurst> watch_{};
};

}  // namespace tributary::dataplane
