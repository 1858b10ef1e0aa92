// Asks a device to steer packets to queues, and remembers what it agreed to.
//
//   rules for UDP ports (rte_flow) ─refused▶ a hash, of UDP ports alone if that is offered
//                                             └─none▶ nothing: lcores hand over
//
// A hint only: every packet's owner is looked up (packet_loop_handover.cc), whatever queue it came
// to.
// Control threads only, one at a time; devices take such requests while they are polled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/plan/steering_plan.h"

struct rte_flow;

namespace tributary::dataplane {

class Steering {
 public:
  enum class How : std::uint8_t { none, flow, rss_udp_port, rss, hand_over };

  // `hash`: what the device was configured to spread by (RTE_ETH_RSS_*); 0: nothing. `offered`:
  // what it could. Called once, when the device is started with several queues.
  void begin(std::uint16_t ethdev, std::uint64_t hash, std::uint64_t offered);
  // Replaces the plan before. A refusal by the device is no error: note() says why.
  void apply(const config::SteeringPlan& plan);
  // Before the device is stopped.
  void end();

  [[nodiscard]] How how() const { return how_; }
  // That the device has of us.
  [[nodiscard]] std::size_t rules() const { return rules_.size(); }
  // The device's own words for all that it refused of the latest plan, else empty.
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  // To the note, once.
  void say(const std::string& what);
  // False, and no rule is left, when one is refused; the note says why.
  bool make_rules(const config::SteeringPlan& plan);
  // Empty, or why not.
  std::string make_rule(std::uint32_t ipv4, const config::SteeringWish& wish);
  void remove_rules();
  // Spreads by UDP ports alone, or as at the start, if the device does.
  void hash_udp_ports(bool alone);

  std::uint16_t ethdev_ = 0;
  std::uint64_t hash_ = 0;
  bool offers_udp_ports_ = false;
  bool hashes_udp_ports_ = false;
  bool begun_ = false;
  How how_ = How::none;
  config::SteeringPlan plan_;
  std::vector<rte_flow*> rules_;
  std::string note_;
};

const char* name_of(Steering::How how);

}  // namespace tributary::dataplane
