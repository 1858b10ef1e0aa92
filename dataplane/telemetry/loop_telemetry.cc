#include "dataplane/telemetry/loop_telemetry.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "dataplane/frame/frame_tag.h"
#include "dataplane/frame/mac_key.h"
#include "dataplane/host/tsc_clock.h"
#include "dataplane/telemetry/frame_sample.h"
#include "dataplane/telemetry/ioam_frame.h"
#include "dataplane/telemetry/marked.h"
#include "telemetry/wire/bytes.h"
#include "telemetry/wire/find_int.h"

namespace tributary::dataplane {
namespace {

using telemetry::Hop;
using telemetry::IoamOutcome;
using telemetry::Outcome;

std::span<std::byte> frame_bytes(rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
}

telemetry::Frame view_of(rte_mbuf* frame, std::uint32_t mtu) {
  return {{rte_pktmbuf_mtod(frame, std::byte*),
           std::size_t{frame->data_len} + rte_pktmbuf_tailroom(frame)},
          frame->data_len,
          mtu};
}

void set_length(rte_mbuf* frame, std::size_t bytes) {
  frame->data_len = static_cast<std::uint16_t>(bytes);
  frame->pkt_len = static_cast<std::uint32_t>(bytes);
}

bool is_shared(const rte_mbuf* frame) {
  return rte_mbuf_refcnt_read(frame) != 1 || !RTE_MBUF_DIRECT(frame);
}

// The switch itself, or a group to which the switch above speaks.
bool is_for(const Identity& identity, std::span<const std::byte> frame,
            const telemetry::UdpPlace& place) {
  const auto [destination, source] = mac_pair(frame);
  if (destination == mac_bits(identity.mac)) return true;
  if ((destination & kGroupBit) == 0 || place.ipv6) return false;
  const auto from = telemetry::load<std::uint32_t>(frame, place.ip + 12);
  const auto to = telemetry::load<std::uint32_t>(frame, place.ip + 16);
  return std::any_of(identity.parents.begin(), identity.parents.end(),
                     [&](const auto& p) { return p.group_ipv4 == to && p.parent_ipv4 == from; });
}

// Reported beside what the sink strips: where and when the packet came.
constexpr std::uint16_t kArrival = telemetry::kPorts | telemetry::kIngressTime;

// Reported of a port that drops a packet: it has no time at which it left.
constexpr std::uint16_t kDropValues = telemetry::kPorts | telemetry::kQueue;

// Reports of other traffic have all values, and the headers that tell its flow.
constexpr std::uint16_t kWatchedValues = telemetry::kPorts | telemetry::kHopLatency |
                                         telemetry::kQueue | telemetry::kIngressTime |
                                         telemetry::kEgressTime | telemetry::kUtilisation;
constexpr std::size_t kMostWatchedBytes = 80;
static_assert(kWatched == telemetry::kChecksumComplement, "no job asks for that");
static_assert((kTraced & telemetry::kKnownInstructions) == 0, "nor for that");

std::uint64_t ns_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

// In a report's own metadata the node stands in the group header.
constexpr std::uint16_t without_node(std::uint16_t bitmap) {
  return bitmap & static_cast<std::uint16_t>(~telemetry::kNodeId);
}

}  // namespace

LoopTelemetry::Rules LoopTelemetry::rules_of(const config::SwitchConfig& config) {
  Rules rules;
  rules.strip = config.telemetry.strip;
  rules.untrusted = config.telemetry.untrusted;
  rules.most_hops = config.telemetry.most_hops;
  rules.probe = config.telemetry.probe;
  for (const config::JobConfig& job : config.jobs)
    if (job.telemetry.enabled())
      rules.jobs[job.id] = {config::asked_bitmap(job.telemetry), job.telemetry.every, job.planes,
                            !job.parent};
  for (const config::TelemetryPort& wanted : config.telemetry.ports)
    for (std::size_t place = 0; place < config.ports.size(); ++place)
      if (config.ports[place].name == wanted.port)
        rules.ports[place] = {wanted.trusted, wanted.mbps};
  const config::IoamConfig& ioam = config.telemetry.ioam;
  rules.ioam_namespace = ioam.name_space;
  for (std::size_t place = 0; place < config.ports.size(); ++place)
    rules.ports[place].ioam = std::find(ioam.ports.begin(), ioam.ports.end(),
                                        config.ports[place].name) != ioam.ports.end();
  return rules;
}

LoopTelemetry::LoopTelemetry(const config::SwitchConfig& config, rte_mempool* pool)
    : pool_(pool),
      node_(config.telemetry.node_id),
      marking_{config.telemetry.udp_port, config.telemetry.dscp},
      ns_per_cycle_q32_(static_cast<std::uint64_t>(1e9 * 4294967296.0 / tsc_hz())),
      rules_(rules_of(config)) {
  FrameNotes::enable();
}

std::uint64_t LoopTelemetry::to_ns(std::uint64_t tsc) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{tsc} * ns_per_cycle_q32_ >> 32);
}

bool LoopTelemetry::make_own(rte_mbuf*& frame) {
  if (!is_shared(frame) && frame->nb_segs == 1) return true;
  rte_mbuf* const own = copy_frame(frame, pool_);
  if (own == nullptr) return false;
  rte_pktmbuf_free(frame);
  frame = own;
  return true;
}

bool LoopTelemetry::any_marked(std::span<rte_mbuf* const> burst) const {
  return std::any_of(burst.begin(), burst.end(),
                     [&](rte_mbuf* frame) { return looks_marked(frame_bytes(frame), marking_); });
}

std::size_t LoopTelemetry::take_in(const Identity& identity, std::uint16_t ingress,
                                   std::span<rte_mbuf*> burst, std::uint64_t arrived_tsc) {
  attribute(ingress, arrived_tsc);
  if (rules_.ports[ingress].ioam)
    for (rte_mbuf*& frame : burst) note_trace(ingress, frame, arrived_tsc);
  if (!any_marked(burst)) return burst.size();
  std::array<rte_mbuf*, 64> out;
  std::size_t kept = 0;
  std::size_t gone = 0;
  for (rte_mbuf*& frame : burst) {
    if (!looks_marked(frame_bytes(frame), marking_) ||
        take_marked(identity, ingress, frame, arrived_tsc) == Fate::stays)
      burst[kept++] = frame;
    else
      out[gone++] = frame;
  }
  std::copy_n(out.begin(), gone, burst.begin() + static_cast<std::ptrdiff_t>(kept));
  return kept;
}

LoopTelemetry::Fate LoopTelemetry::take_marked(const Identity& identity, std::uint16_t ingress,
                                               rte_mbuf*& frame, std::uint64_t arrived_tsc) {
  const bool trusted = rules_.ports[ingress].trusted;
  if (frame->nb_segs > 1 && !make_own(frame)) return Fate::goes;  // it could not be stripped
  telemetry::UdpPlace place;
  telemetry::IntView view;
  const auto bytes = frame_bytes(frame);
  const bool refused = !trusted && rules_.untrusted == config::UntrustedRule::drop;
  const Outcome found = telemetry::find_int(bytes, marking_, place, view);
  if (found != Outcome::done) {
    if (found != Outcome::bad_stack && found != Outcome::truncated) return Fate::stays;
    counters_.malformed.add();
    return refused ? Fate::goes : Fate::stays;
  }
  if (!trusted) {
    counters_.untrusted.add();
    if (refused || !make_own(frame)) return Fate::goes;
    telemetry::Frame whole = view_of(frame, 0);
    telemetry::Taken taken;
    if (telemetry::strip_int(whole, marking_, taken, view) == Outcome::done)
      set_length(frame, whole.length);
    return Fate::stays;
  }
  if (!is_for(identity, bytes, place)) {
    put_note(frame, {arrived_tsc, ingress, 0});
    return Fate::stays;
  }
  op_hops_.note(view, bytes.subspan(place.payload(), place.payload_bytes()).subspan(view.bytes()));
  if (!make_own(frame)) return Fate::goes;
  Hop own;
  own.ingress_port = ingress;
  own.ingress_ns = to_ns(arrived_tsc);
  strip(frame, own, kArrival, false);
  return Fate::stays;
}

const LoopTelemetry::Sampling* LoopTelemetry::sampling_of(std::uint32_t job) {
  if (!latest_.known || latest_.job != job) {
    const auto found = rules_.jobs.find(job);
    latest_ = {job, found == rules_.jobs.end() ? nullptr : &found->second, true};
  }
  return latest_.sampling;
}

void LoopTelemetry::note_end(const wire::Header& header) {
  if (header.type != wire::PacketType::result || (header.flags & wire::kFlagLast) == 0) return;
  const Sampling* const sampling = sampling_of(header.job);
  if (sampling == nullptr || !sampling->ends_here) return;
  const telemetry::OpEnd end{header.job, header.op, header.epoch, header.plane, sampling->planes};
  if (end == last_end_) return;
  last_end_ = end;
  report_of_domain(telemetry::kUnknown16, {.op_end = end});
}

bool LoopTelemetry::chooses(const wire::Header& header) {
  if (header.type != wire::PacketType::aggregate && header.type != wire::PacketType::result)
    return false;
  const Sampling* const sampling = sampling_of(header.job);
  return sampling != nullptr && sampling->chooses(header.seq);
}

void LoopTelemetry::sample(const wire::Header& header, rte_mbuf* frame) {
  if (!chooses(header)) return;
  counters_.sampled.add();
  put_note(frame, {arrived_tsc_, ingress_, latest_.sampling->bitmap});
}

void LoopTelemetry::watch(std::uint32_t every, rte_mbuf* frame) {
  const std::uint16_t trace = has_note(frame) ? note_of(frame).bitmap : 0;
  if (has_note(frame) && trace != kTraced) return;
  if (sample_hash(frame_bytes(frame)) % every != 0) return;
  counters_.watched.add();
  put_note(frame, {arrived_tsc_, ingress_, static_cast<std::uint16_t>(kWatched | trace)});
}

LoopTelemetry::Burst LoopTelemetry::stamp(const Departure& egress, std::span<rte_mbuf*> frames) {
  const std::uint64_t tsc = rte_rdtsc();
  Burst kept_back;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    rte_mbuf*& frame = frames[i];
    if (!has_note(frame)) continue;
    const FrameNote note = note_of(frame);
    const Hop hop = hop_of(note, egress, tsc);
    if (note.bitmap == 0) {
      if (stamp_transit(hop, egress, frame) == Fate::goes) kept_back.set(i);
    } else if ((note.bitmap & (kWatched | kTraced)) == 0) {
      stamp_source(note, hop, egress, frame);
    } else {
      if ((note.bitmap & kTraced) != 0) stamp_trace(hop, egress, frame);
      if ((note.bitmap & kWatched) != 0) report_watched(hop, frame);
      take_note_off(frame);
    }
  }
  return kept_back;
}

void LoopTelemetry::report_drop(const Departure& egress, const rte_mbuf* noted) {
  const FrameNote note = note_of(noted);
  if (note.bitmap == kTraced) return;  // no report of it was asked for
  report(hop_of(note, egress, rte_rdtsc()), kDropValues, true);
}

void LoopTelemetry::stamp_source(const FrameNote& note, const Hop& hop, const Departure& egress,
                                 rte_mbuf*& frame) {
  if (!rules_.ports[egress.port].trusted) {
    report(hop, without_node(note.bitmap));
    return take_note_off(frame);
  }
  if (!make_own(frame)) return report(hop, without_node(note.bitmap));
  remove_note(frame);
  if (!insert(frame, note.bitmap, egress.mtu, hop)) report(hop, without_node(note.bitmap));
}

void LoopTelemetry::take_note_off(rte_mbuf*& frame) {
  if (!is_shared(frame)) return remove_note(frame);
  // So that a frame which the driver refuses now is told of once.
  rte_mbuf* const clone = rte_pktmbuf_clone(frame, pool_);
  if (clone == nullptr) return;
  rte_pktmbuf_free(frame);
  frame = clone;
  remove_note(frame);
}

// Frames that would stay as they are get no note.
void LoopTelemetry::note_trace(std::uint16_t ingress, rte_mbuf*& frame, std::uint64_t arrived_tsc) {
  const bool short_head = frame->nb_segs > 1 && frame->data_len < kTraceLookBytes;
  if (!short_head && !may_have_trace(frame_bytes(frame))) return;
  if (frame->nb_segs > 1 && !make_own(frame)) return;
  switch (judge_trace(frame_bytes(frame), rules_.ioam_namespace)) {
    case IoamOutcome::filled:
    case IoamOutcome::full: return put_note(frame, {arrived_tsc, ingress, kTraced});
    case IoamOutcome::malformed: return counters_.traces_malformed.add();
    case IoamOutcome::absent:
    case IoamOutcome::foreign: return;
  }
}

void LoopTelemetry::stamp_trace(Hop hop, const Departure& egress, rte_mbuf*& frame) {
  if (!rules_.ports[hop.ingress_port].ioam || !rules_.ports[egress.port].ioam) return;
  if (!make_own(frame)) return counters_.traces_full.add();
  hop.egress_ns = ns_since_1970();
  const IoamOutcome outcome = fill_trace(frame_bytes(frame), rules_.ioam_namespace, hop);
  if (outcome == IoamOutcome::filled) counters_.traces.add();
  if (outcome == IoamOutcome::full) counters_.traces_full.add();
}

void LoopTelemetry::report_watched(const Hop& hop, rte_mbuf* frame) {
  const SampledPart part = sampled_part(frame_bytes(frame));
  record_.own = hop;
  record_.dropped = false;
  record_.bitmap = kWatchedValues;
  record_.intermediate = false;
  record_.inner_type = part.type;
  record_.inner_bytes = static_cast<std::uint16_t>(std::min(part.bytes.size(), kMostWatchedBytes));
  std::memcpy(record_.bytes.data(), part.bytes.data(), record_.inner_bytes);
  push(record_);
}

LoopTelemetry::Fate LoopTelemetry::stamp_transit(const Hop& hop, const Departure& egress,
                                                 rte_mbuf*& frame) {
  const bool trusted = rules_.ports[egress.port].trusted;
  if (!make_own(frame)) {
    (trusted ? counters_.no_space : counters_.unstripped).add();
    return trusted ? Fate::stays : Fate::goes;
  }
  remove_note(frame);
  telemetry::UdpPlace place;
  telemetry::IntView view;
  if (telemetry::find_int(frame_bytes(frame), marking_, place, view) != Outcome::done)
    return Fate::stays;
  const std::uint16_t bitmap = view.header.bitmap & telemetry::kKnownInstructions &
                               static_cast<std::uint16_t>(~telemetry::kChecksumComplement);
  if (!trusted) {
    strip(frame, hop, without_node(bitmap), false);
    return Fate::stays;
  }
  if (rules_.strip != config::StripRule::every_hop) {
    telemetry::Frame whole = view_of(frame, egress.mtu);
    const Outcome pushed = telemetry::push_hop(whole, marking_, hop);
    set_length(frame, whole.length);
    (pushed == Outcome::done ? counters_.hops_added : counters_.no_space).add();
    if (rules_.strip != config::StripRule::mtu || pushed != Outcome::exceeds_mtu)
      return Fate::stays;
  }
  // This hop is reported by the next switch, or by this one where its metadata may not be inserted.
  if (strip(frame, hop, 0, true) && !insert(frame, bitmap, egress.mtu, hop))
    report(hop, without_node(bitmap));
  return Fate::stays;
}

bool LoopTelemetry::insert(rte_mbuf* frame, std::uint16_t bitmap, std::uint32_t mtu,
                           const Hop& hop) {
  telemetry::Frame whole = view_of(frame, mtu);
  const Outcome outcome = telemetry::insert_int(whole, marking_, bitmap, rules_.most_hops, hop);
  if (outcome == Outcome::done)
    counters_.inserted.add();
  else
    counters_.no_space.add();
  set_length(frame, whole.length);
  return outcome == Outcome::done;
}

bool LoopTelemetry::strip(rte_mbuf* frame, const Hop& own, std::uint16_t own_bitmap,
                          bool intermediate) {
  telemetry::UdpPlace place;
  telemetry::IntView view;
  telemetry::Taken taken;
  const auto bytes = frame_bytes(frame);
  if (telemetry::find_udp(bytes, place) != Outcome::done) return false;
  // Copied before it is known whether it is reported.
  const std::size_t room = std::min(bytes.size() - place.ip, record_.bytes.size());
  std::memcpy(record_.bytes.data(), bytes.data() + place.ip, room);
  telemetry::Frame whole = view_of(frame, 0);
  if (telemetry::strip_int(whole, marking_, taken, view) != Outcome::done) {
    counters_.malformed.add();
    return false;
  }
  set_length(frame, whole.length);
  counters_.stripped.add();
  record_.own = own;
  record_.own.node = node_;
  record_.dropped = false;
  record_.bitmap = own_bitmap;
  record_.intermediate = intermediate;
  record_.inner_type = place.ipv6 ? telemetry::InnerType::ipv6 : telemetry::InnerType::ipv4;
  record_.inner_bytes =
      static_cast<std::uint16_t>(std::min(room, place.payload() - place.ip + view.bytes()));
  push(record_);
  return true;
}

void LoopTelemetry::report(const Hop& own, std::uint16_t bitmap, bool dropped) {
  record_.dropped = dropped;
  record_.own = own;
  record_.bitmap = bitmap;
  record_.intermediate = false;
  record_.inner_type = telemetry::InnerType::none;
  record_.inner_bytes = 0;
  push(record_);
}

void LoopTelemetry::report_link(std::uint16_t port, std::uint32_t latency_ns) {
  report_of_domain(port, {.link_latency = latency_ns});
}

void LoopTelemetry::report_of_domain(std::uint16_t egress, const telemetry::DomainValues& values) {
  record_.of_domain = values;
  Hop own;
  own.node = node_;
  own.egress_port = egress;
  report(own, telemetry::kPorts);
  record_.of_domain = {};
}

void LoopTelemetry::push(ReportRecord& record) {
  if (ring_.push(ReportRecord(record)))
    counters_.reports.add();
  else
    counters_.reports_lost.add();
}

Hop LoopTelemetry::hop_of(const FrameNote& note, const Departure& egress, std::uint64_t tsc) {
  Hop hop;
  hop.node = node_;
  hop.ingress_port = note.ingress;
  hop.egress_port = egress.port;
  hop.queue = 0;
  hop.queue_occupancy = std::min(egress.queue, telemetry::kUnknown24 - 1);
  hop.egress_ns = to_ns(tsc);
  if (note.arrived_tsc != 0) {
    hop.ingress_ns = to_ns(note.arrived_tsc);
    const std::uint64_t ns = tsc > note.arrived_tsc ? to_ns(tsc - note.arrived_tsc) : 0;
    hop.latency_ns = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(ns, std::uint64_t{telemetry::kUnknown32} - 1));
  }
  hop.utilisation_ppm =
      utilisation_.of(egress.port, rules_.ports[egress.port].mbps, egress.tx_bytes, hop.egress_ns);
  return hop;
}

}  // namespace tributary::dataplane
