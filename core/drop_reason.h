// Why a packet was dropped: one list for the enum, the names that operators read, and the counters.
// Every packet that enters a port and is neither consumed nor forwarded is counted under exactly
// one of these reasons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/counter.h"

namespace tributary {

// X(enumerator, metric label, what it means to an operator)
#define TRIBUTARY_DROP_REASONS(X)                                                                 \
  X(frame_truncated, "frame-truncated", "frame shorter than the headers it announces")            \
  X(frame_bad_ip, "frame-bad-ip", "IP header with bad version, length, checksum or options")      \
  X(frame_fragment, "frame-fragment", "IP fragment to the switch, where none are taken")          \
  X(fragment_malformed, "fragment-malformed", "IP fragment that is empty, or ends between words") \
  X(fragment_too_large, "fragment-too-large", "IP fragment of more than the largest frame")       \
  X(fragment_duplicate, "fragment-duplicate", "IP fragment that had come before")                 \
  X(fragment_overlap, "fragment-overlap", "IP fragments that contradict each other")              \
  X(fragment_timeout, "fragment-timeout",                                                         \
    "IP fragments of a datagram that was not complete in time")                                   \
  X(fragment_evicted, "fragment-evicted", "IP fragments that gave way to later ones")             \
  X(frame_bad_udp, "frame-bad-udp", "UDP length disagrees with the IP length")                    \
  X(frame_multi_segment, "frame-multi-segment", "aggregation packet in several mbuf segments")    \
  X(checksum, "checksum", "UDP checksum is wrong")                                                \
  X(checksum_offloaded, "checksum-offloaded",                                                     \
    "UDP checksum left to the sender's device: ethtool -K INTERFACE tx off there")                \
  X(crc32c, "crc32c", "CRC32C extension is wrong")                                                \
  X(no_integrity, "no-integrity", "neither UDP checksum nor CRC32C is present")                   \
  X(header_truncated, "header-truncated", "shorter than the aggregation header")                  \
  X(bad_version, "bad-version", "unknown protocol version")                                       \
  X(bad_type, "bad-type", "unknown or unexpected packet type")                                    \
  X(bad_flags, "bad-flags", "unknown flag that may not be ignored")                               \
  X(bad_extension, "bad-extension", "extension area is malformed")                                \
  X(critical_extension, "critical-extension", "unknown extension marked critical")                \
  X(bad_dtype, "bad-dtype", "data type unknown or not supported")                                 \
  X(bad_reduce_op, "bad-reduce-op", "reduce operation unknown or not valid for the type")         \
  X(bad_encoding, "bad-encoding", "payload encoding unknown or not supported")                    \
  X(bad_collective, "bad-collective", "collective unknown or not supported")                      \
  X(bad_op, "bad-op", "op number beyond the last that an epoch has")                              \
  X(bad_target, "bad-target", "no rank of the job, or array of the model, is named")              \
  X(bad_payload_length, "bad-payload-length", "element count times size is not the payload")      \
  X(payload_too_large, "payload-too-large", "payload exceeds the job's chunk size")               \
  X(unknown_job, "unknown-job", "job is not configured on this switch")                           \
  X(not_joined, "not-joined", "sender has not joined the job's current epoch")                    \
  X(stale_epoch, "stale-epoch", "packet of an earlier or unknown epoch")                          \
  X(stale_term, "stale-term", "completion host of an earlier term")                               \
  X(bad_child, "bad-child", "child index or rank that the job does not have")                     \
  X(bad_fan_in, "bad-fan-in", "fan-in is not that of the job at this switch")                     \
  X(bad_coverage, "bad-coverage", "workers inside a sum are not those behind its sender")         \
  X(join_mismatch, "join-mismatch", "JOIN for a job of another size, tree or number of planes")   \
  X(sender_mismatch, "sender-mismatch", "child is bound to another port or address")              \
  X(wrong_ingress_port, "wrong-ingress-port",                                                     \
    "from an address behind a router, but not through that port")                                 \
  X(no_next_hop, "no-next-hop", "router on the way has not answered ARP")                         \
  X(bad_shard, "bad-shard", "shard, plane or stream outside the job's")                           \
  X(stale_seq, "stale-seq", "chunk finished and acknowledged long ago")                           \
  X(beyond_window, "beyond-window", "chunk is beyond the window the sender may use")              \
  X(duplicate, "duplicate", "contribution already counted")                                       \
  X(overlap, "overlap", "aggregate overlaps what the completion engine holds")                    \
  X(op_mismatch, "op-mismatch", "workers disagree on count, type or operation")                   \
  X(aborted, "aborted", "packet of an epoch that was aborted")                                    \
  X(bad_name, "bad-name", "name of data is missing, malformed, or has other bytes")               \
  X(name_refused, "name-refused", "put or get of named data that is refused, and why is said")    \
  X(name_unasked, "name-unasked", "answer about named data that no request waits for")            \
  X(no_slot, "no-slot", "no aggregation slot or buffer is free")                                  \
  X(reply_limit, "reply-limit", "replies to unknown senders are rate limited")                    \
  X(no_mbuf, "no-mbuf", "packet buffer pool is exhausted")                                        \
  X(handover_full, "handover-full", "ring to the lcore that owns the job or queue is full")       \
  X(job_moved, "job-moved", "job went to another lcore while the packet was on its way")          \
  X(tx_full, "tx-full", "transmit queue is full")                                                 \
  X(tx_link_down, "tx-link-down", "link of the egress port is down")                              \
  X(mtu, "mtu-exceeded", "frame exceeds the MTU of the port it comes or goes through")            \
  X(roce_malformed, "roce-malformed", "RoCEv2 packet that is cut short, or of another version")   \
  X(icrc, "icrc", "RoCEv2 checksum (ICRC) is wrong")                                              \
  X(rdma_port, "rdma-port", "RDMA to the switch through a port without `rdma: true`")             \
  X(rdma_qp, "rdma-qp", "no queue pair of the switch has that number")                            \
  X(rdma_pkey, "rdma-pkey", "P_Key is not that of the queue pair")                                \
  X(rdma_qkey, "rdma-qkey", "Q_Key is not that of the queue pair")                                \
  X(rdma_opcode, "rdma-opcode", "RDMA operation that the queue pair does not take")               \
  X(rdma_job, "rdma-job", "the queue pair is another job's than the packet")                      \
  X(rdma_psn, "rdma-psn", "packet of a connection out of its order: one before it is missing")    \
  X(rdma_address, "rdma-address", "RDMA WRITE with another rkey, or not to chunks of the window") \
  X(cm_malformed, "cm-malformed", "message to the connection manager that breaks its rules")      \
  X(bad_source_mac, "bad-source-mac", "source address is multicast, zero or the switch's own")    \
  X(own_address, "own-address", "the sender claims the switch's own IP address")                  \
  X(spoofed_mac, "spoofed-mac", "source address that belongs to another port (static_macs)")      \
  X(no_egress, "no-egress", "destination is on the ingress port, or there is no other port")      \
  X(vlan_denied, "vlan-denied", "VLAN, or lack of a tag, that the ingress port does not take")    \
  X(vlan_stacked, "vlan-stacked", "a second VLAN tag is under the one to be taken off")           \
  X(storm_control, "storm-control", "flooded frame beyond its port's limit")                      \
  X(acl_denied, "acl-denied", "denied by an ACL rule, or by its default")                         \
  X(group_malformed, "group-malformed", "IGMP or MLD message that is cut short or damaged")       \
  X(group_flood, "group-flood", "more IGMP or MLD messages than the first lcore is through with") \
  X(snooping_limit, "snooping-limit", "reports of more groups than a port may name a second")     \
  X(lldp_malformed, "lldp-malformed", "LLDP message that is cut short or breaks its rules")       \
  X(lldp_refused, "lldp-refused", "LLDP from more neighbours, or more often, than is taken")      \
  X(bridge_reserved, "bridge-reserved",                                                           \
    "to a group address that no bridge forwards (01:80:c2:00:00:0x)")                             \
  X(bpdu_guard, "bpdu-guard", "spanning tree's message, or a frame of a port that heard one")     \
  X(telemetry_untrusted, "telemetry-untrusted",                                                   \
    "in-band telemetry through a port that is not trusted, or no buffer to take it out")          \
  X(no_member, "no-member", "multicast to a group that no other port has asked for")              \
  X(unhandled, "unhandled", "addressed to the switch itself, which has no use for it")

enum class DropReason : std::uint8_t {
#define X(id, label, text) id,
  TRIBUTARY_DROP_REASONS(X)
#undef X
      none  // not a drop
};

inline constexpr std::size_t kDropReasonCount = static_cast<std::size_t>(DropReason::none);

// Metric label, e.g. "bad-version".
constexpr const char* drop_label(DropReason r) {
  constexpr std::array<const char*, kDropReasonCount> labels = {
#define X(id, label, text) label,
      TRIBUTARY_DROP_REASONS(X)
#undef X
  };
  return labels[static_cast<std::size_t>(r)];
}

// One sentence for the operator.
constexpr const char* drop_text(DropReason r) {
  constexpr std::array<const char*, kDropReasonCount> texts = {
#define X(id, label, text) text,
      TRIBUTARY_DROP_REASONS(X)
#undef X
  };
  return texts[static_cast<std::size_t>(r)];
}

// One counter per reason; written by one lcore.
class DropCounters {
 public:
  void add(DropReason r, std::uint64_t n = 1) { counters_[static_cast<std::size_t>(r)].add(n); }
  [[nodiscard]] std::uint64_t get(DropReason r) const {
    return counters_[static_cast<std::size_t>(r)].get();
  }
  void include(const DropCounters& other) {
    for (std::size_t r = 0; r < counters_.size(); ++r) counters_[r].add(other.counters_[r].get());
  }
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& c : counters_) sum += c.get();
    return sum;
  }

 private:
  std::array<Counter, kDropReasonCount> counters_;
};

}  // namespace tributary
