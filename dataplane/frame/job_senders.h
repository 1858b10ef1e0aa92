// Decides whether a frame may speak to the workers of this switch's jobs: workers take what comes
// to their job's group from an address that they were told, and addresses are easily forged.
//
//   to a group of a job here      from the switch above, through the uplink;
//                                 from a host that notifies workers itself, through its port;
//                                 from an address to which `routes` or `paths` lead, through that
//                                 port: another switch of several that share the job's work
//   to a job's UDP port, in fragments, or ARP
//                                 from such a host's address: through its port
//
// All else passes. Tags of VLAN 0 hide nothing (judge_stacked_tags()); what is behind a tag of
// another VLAN is another network. The answer follows from the configuration alone, so no frame
// that came first locks an owner out.
//
// Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "config/model/switch_config.h"
#include "core/drop_reason.h"
#include "core/net/byte_order.h"
#include "core/net/frame.h"
#include "dataplane/frame/vlan.h"

namespace tributary::dataplane {

class JobSenders {
 public:
  explicit JobSenders(const config::SwitchConfig& config);

  // none: the frame may pass. sender_mismatch: it is to a job's group, and from no declared sender.
  // wrong_ingress_port: from one whose way here is another port.
  [[nodiscard]] DropReason judge(std::uint16_t port, const wire::EthernetView& frame) const;

 private:
  // An address, and the ports through which it is reached.
  struct Sender {
    std::uint32_t group = 0;  // to which it may send
    std::uint32_t ipv4 = 0;
    PortMask ports = 0;
  };
  struct Place {
    config::Ipv4Prefix prefix;
    PortMask ports = 0;
  };

  void add_places(const config::SwitchConfig& config);
  [[nodiscard]] DropReason judge_tagged(std::uint16_t port, wire::EthernetView frame) const;
  [[nodiscard]] DropReason judge_ipv4(std::uint16_t port, const wire::EthernetView& frame) const;
  [[nodiscard]] DropReason judge_group(std::uint16_t port, std::uint32_t source,
                                       std::uint32_t group) const;
  [[nodiscard]] DropReason judge_host(std::uint16_t port, const wire::EthernetView& frame,
                                      std::uint32_t source) const;
  [[nodiscard]] DropReason judge_arp(std::uint16_t port, const wire::EthernetView& frame) const;
  [[nodiscard]] bool leads_to(std::uint16_t port, std::uint32_t ipv4) const;

  std::uint16_t udp_first_;
  std::vector<std::uint32_t> groups_;  // of the jobs, ascending
  std::vector<Sender> senders_;
  std::vector<Sender> hosts_;  // those of senders_ that notify workers
  std::vector<Place> places_;  // the longest prefix first
};

inline DropReason JobSenders::judge(std::uint16_t port, const wire::EthernetView& frame) const {
  if (groups_.empty()) return DropReason::none;
  if (frame.ether_type == wire::kEtherTypeIpv4) return judge_ipv4(port, frame);
  if (frame.ether_type == wire::kEtherTypeArp && !hosts_.empty()) return judge_arp(port, frame);
  return is_vlan_tag(frame.ether_type) ? judge_tagged(port, frame) : DropReason::none;
}

inline DropReason JobSenders::judge_ipv4(std::uint16_t port,
                                         const wire::EthernetView& frame) const {
  constexpr std::uint32_t kScope = 0xFFFF0000u;  // job_group_ipv4()
  constexpr std::size_t kSource = 12;
  struct {
    wire::be32 source, destination;
  } addresses;
  if (frame.payload.size() < wire::kIpv4Bytes) return DropReason::none;
  std::memcpy(&addresses, frame.payload.data() + kSource, sizeof addresses);
  if ((addresses.destination & kScope) == config::job_group_ipv4(0))
    return judge_group(port, addresses.source, addresses.destination);
  return hosts_.empty() ? DropReason::none : judge_host(port, frame, addresses.source);
}

}  // namespace tributary::dataplane
