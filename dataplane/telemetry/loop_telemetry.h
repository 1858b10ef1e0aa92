// In-band telemetry of one packet loop (docs/telemetry.md).
//
//   take_in()  frames as they come: metadata of an untrusted port goes, or the frame does; what is
//              for this switch is stripped and reported; what goes on gets a note, as do frames
//              that may have an IOAM trace
//   sample()   the loop's own packets of jobs that ask for it: get a note
//   note_end() the result of an op's last chunk, where the job's data ends, is reported as the
//              op's end
//   watch()    other traffic that rules of access control watch: gets a note, and is reported as it
//              is, since nothing may be inserted into other machines' packets
//   stamp()    frames as the driver gets them: a noted one gets its hop, or is stripped, in a
//              copy of its own where others hold it, too; space of IOAM is filled
//   report_drop()  a noted frame that the egress port drops
//
// Metadata leaves only through trusted ports: where it cannot be taken out, the frame does not
// leave. Owner: the packet loop; counters and the ring's other
// end are for control threads.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "config/model/switch_config.h"
#include "config/model/telemetry.h"
#include "core/counter.h"
#include "core/wire/header.h"
#include "dataplane/frame/frame_note.h"
#include "dataplane/frame/frame_pool.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/telemetry/op_hops.h"
#include "dataplane/telemetry/report_record.h"
#include "dataplane/telemetry/utilisation.h"
#include "telemetry/wire/int_md.h"

namespace tributary::dataplane {

struct TelemetryCounters {
  Counter sampled;      // the switch's own packets that were chosen
  Counter inserted;     // packets that metadata was inserted into
  Counter hops_added;   // packets that came with some and got more
  Counter stripped;     // packets that lost theirs, as the domain has it
  Counter untrusted;    // and those through a port that is not trusted
  Counter malformed;    // metadata that cannot be; the packet stays as it is, where it may come in
  Counter no_space;     // no hop was added, for the MTU, the number of hops, or want of a buffer
  Counter unstripped;   // dropped before an untrusted port, for want of a buffer to strip them in
  Counter probes_lost;  // of links, without an answer
  Counter watched;      // other traffic's frames that were chosen
  Counter traces;       // IOAM traces that got this hop
  Counter traces_full;  // and those that did not, for want of space, or of a buffer
  Counter traces_malformed;  // frames with one that cannot be; they stay as they are
  Counter reports;           // records for the control thread
  Counter reports_lost;      // those that found the ring full
};

// Written by the control thread that takes the records.
struct ReportCounters {
  Counter datagrams;  // given to the kernel
  Counter refused;    // that it did not take
};

// A port as stamp() is called.
struct Departure {
  std::uint16_t port = 0;  // place
  std::uint32_t mtu = 0;
  std::uint32_t queue = 0;     // frames that wait
  std::uint64_t tx_bytes = 0;  // so far
};

class LoopTelemetry {
 public:
  struct Sampling {
    std::uint16_t bitmap = 0;
    std::uint32_t every = 1;
    std::uint8_t planes = 1;  // of the job
    bool ends_here = false;   // no switch above sums its data
    [[nodiscard]] bool chooses(std::uint32_t seq) const {
      const std::uint32_t mask = every - 1;
      return (every & mask) == 0 ? (seq & mask) == 0 : seq % every == 0;
    }
  };
  struct PortRule {
    bool trusted = false;
    std::uint32_t mbps = 0;
    bool ioam = false;
  };
  // The part that a reload may change.
  struct Rules {
    config::StripRule strip = config::StripRule::sink;
    config::UntrustedRule untrusted = config::UntrustedRule::strip;
    std::uint8_t most_hops = config::kDefaultMostHops;
    std::unordered_map<std::uint32_t, Sampling> jobs;  // those that ask for it
    std::array<PortRule, config::kMaxPorts> ports;     // by place
    Duration probe;                                    // between probes of a link; 0: none
    std::uint16_t ioam_namespace = 0;
  };
  // The ports of `config` are at their places.
  static Rules rules_of(const config::SwitchConfig& config);

  // Throws std::runtime_error where DPDK's buffers have no room for notes.
  LoopTelemetry(const config::SwitchConfig& config, rte_mempool* pool);

  // Whether a frame of the burst may have metadata.
  [[nodiscard]] bool any_marked(std::span<rte_mbuf* const> burst) const;
  // Returns how many of the burst go on, in their order; those to be dropped are behind them.
  std::size_t take_in(const Identity& identity, std::uint16_t ingress, std::span<rte_mbuf*> burst,
                      std::uint64_t arrived_tsc);
  // Packets sampled from now on belong to a frame of this burst.
  void attribute(std::uint16_t ingress, std::uint64_t arrived_tsc) {
    ingress_ = ingress;
    arrived_tsc_ = arrived_tsc;
  }
  // Copies of one result are told of once.
  void note_end(const wire::Header& header);
  // Whether the job asks for that of this packet.
  [[nodiscard]] bool chooses(const wire::Header& header);
  // Marks a frame with such a packet for stamp().
  void sample(const wire::Header& header, rte_mbuf* frame);
  // Marks a frame that goes on for stamp() if it is the one in so many.
  void watch(std::uint32_t every, rte_mbuf* frame);
  [[nodiscard]] static bool any_noted(std::span<rte_mbuf* const> frames) {
    std::uint64_t flags = 0;
    for (const rte_mbuf* frame : frames) flags |= frame->ol_flags;
    return (flags & FrameNotes::flag) != 0;
  }
  // At most kBurst frames. Returns those that must not leave: they are as they were.
  using Burst = std::bitset<kBurst>;
  Burst stamp(const Departure& egress, std::span<rte_mbuf*> frames);
  void report_drop(const Departure& egress, const rte_mbuf* noted);
  void exchange(Rules& rules) {
    std::swap(rules_, rules);
    latest_ = {};
  }

  // Whether metadata may leave through the port now, but not with these rules.
  [[nodiscard]] bool loses_trust(std::uint16_t port, const Rules& later) const {
    return rules_.ports[port].trusted && !later.ports[port].trusted;
  }

  // For the probes of links.
  [[nodiscard]] bool is_trusted(std::uint16_t port) const { return rules_.ports[port].trusted; }
  [[nodiscard]] Duration probe_interval() const { return rules_.probe; }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t tsc) const;
  // kUnknown32: there is no answer.
  void report_link(std::uint16_t port, std::uint32_t latency_ns);
  void count_lost_probe() { counters_.probes_lost.add(); }

  [[nodiscard]] const TelemetryCounters& counters() const { return counters_; }
  // On the loop's thread.
  [[nodiscard]] const OpHops& op_hops() const { return op_hops_; }
  // For the one control thread that sends reports.
  [[nodiscard]] ReportRing& ring() { return ring_; }
  [[nodiscard]] ReportCounters& report_counters() { return report_counters_; }
  [[nodiscard]] const ReportCounters& report_counters() const { return report_counters_; }

 private:
  enum class Fate : std::uint8_t { stays, goes };

  Fate take_marked(const Identity& identity, std::uint16_t ingress, rte_mbuf*& frame,
                   std::uint64_t arrived_tsc);
  void stamp_source(const FrameNote& note, const telemetry::Hop& hop, const Departure& egress,
                    rte_mbuf*& frame);
  void report_watched(const telemetry::Hop& hop, rte_mbuf* frame);
  void note_trace(std::uint16_t ingress, rte_mbuf*& frame, std::uint64_t arrived_tsc);
  void stamp_trace(telemetry::Hop hop, const Departure& egress, rte_mbuf*& frame);
  // Other copies of the frame keep theirs.
  void take_note_off(rte_mbuf*& frame);
  // Goes: it must not leave.
  Fate stamp_transit(const telemetry::Hop& hop, const Departure& egress, rte_mbuf*& frame);
  // Takes metadata out and reports it with `own`; false: there was none, or none that can be.
  bool strip(rte_mbuf* frame, const telemetry::Hop& own, std::uint16_t own_bitmap,
             bool intermediate);
  bool insert(rte_mbuf* frame, std::uint16_t bitmap, std::uint32_t mtu, const telemetry::Hop& hop);
  void report(const telemetry::Hop& own, std::uint16_t bitmap, bool dropped = false);
  void report_of_domain(std::uint16_t egress, const telemetry::DomainValues& values);
  // nullptr: the job asks for no telemetry.
  const Sampling* sampling_of(std::uint32_t job);
  void push(ReportRecord& record);
  // A buffer that the loop may write to in its place; false: there is none.
  bool make_own(rte_mbuf*& frame);
  telemetry::Hop hop_of(const FrameNote& note, const Departure& egress, std::uint64_t tsc);

  rte_mempool* pool_;
  std::uint32_t node_;
  telemetry::Marking marking_;
  std::uint64_t ns_per_cycle_q32_;
  Rules rules_;
  // The job that was looked up last: most packets are of the same one as those before.
  struct {
    std::uint32_t job = 0;
    const Sampling* sampling = nullptr;
    bool known = false;
  } latest_;
  Utilisation utilisation_;
  std::uint16_t ingress_ = telemetry::kUnknown16;
  std::uint64_t arrived_tsc_ = 0;
  TelemetryCounters counters_;
  ReportRing ring_{kReportRingSize};
  ReportCounters report_counters_;
  ReportRecord record_;        // room
  telemetry::OpEnd last_end_;  // that was reported
  OpHops op_hops_;
};

}  // namespace tributary::dataplane
