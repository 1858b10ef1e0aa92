#include "control/metrics/metrics.h"

#include "control/metrics/completion_metrics.h"
#include "control/metrics/forwarding_metrics.h"
#include "control/metrics/loop_metrics.h"
#include "control/metrics/metric_family.h"
#include "control/metrics/metric_table.h"
#include "control/metrics/names_metrics.h"
#include "control/metrics/straggler_metrics.h"
#include "control/metrics/telemetry_metrics.h"
#include "control/text/link_state.h"
#include "control/text/show_text.h"
#include "core/invariant.h"
#include "dataplane/memif/memif_server.h"
#include "dataplane/port/eal.h"

namespace tributary::control {
namespace {

template <typename F>
double sum(const dataplane::Switch& sw, F of) {
  double all = 0;
  for (const auto& packet_loop : sw.packet_loops()) all += of(*packet_loop);
  return all;
}

void collect_process(Families& out, dataplane::Switch& sw) {
  sample(family(out, "tributary_build_info", "Version of the program and of DPDK; always 1", true),
         {{"version", TRIBUTARY_VERSION}, {"dpdk", dataplane::dpdk_version()}}, 1);
  const auto each_pool = [&](auto& to, auto count) {
    for (const auto& pool : sw.pools())
      sample(to, {{"socket", config::socket_name(pool->socket())}}, count(*pool));
    sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
      if (const dataplane::OwnPool* const own = port.own_pool())
        sample(to, {{"port", port.name()}, {"socket", config::socket_name(own->pool().socket())}},
               count(own->pool()));
    });
  };
  using dataplane::FramePool;
  each_pool(family(out, "tributary_packet_buffers", "Packet buffers in the pool", true),
            [](const FramePool& pool) { return pool.buffers(); });
  each_pool(family(out, "tributary_packet_buffers_free", "Packet buffers not in use", true),
            [](const FramePool& pool) { return pool.free_buffers(); });
  auto& memory = family(out, "tributary_aggregation_memory_bytes",
                        "Reserved for sums, results and their tables", true);
  if (!sw.packet_loops().any_late())
    sample(memory, {}, sum(sw, [](const dataplane::PacketLoop& w) {
             return static_cast<double>(w.engine().memory_bytes());
           }));
  sample(family(out, "tributary_outbox_overflows_total",
                "Messages of the engine that found no room; any is a defect", false),
         {}, sum(sw, [](const dataplane::PacketLoop& w) { return number(w.outbox_overflows()); }));
  sample(family(out, "tributary_invariant_breaches_total",
                "Broken invariants; any is a defect, and the log says which", false),
         {}, static_cast<double>(invariant_breaches()));
  sample(
      family(out, "tributary_memif_clients_gone_total",
             "Clients of memif that came to a socket and left before they were connected", false),
      {}, number(dataplane::MemifServer::instance().counters().gone));
  sample(family(out, "tributary_memif_clients_refused_total",
                "Clients of memif that were turned away or put out, with a reason", false),
         {}, number(dataplane::MemifServer::instance().counters().refused));
}

void collect_open_jobs(Families& out, dataplane::Switch& sw) {
  const auto& counters = sw.packet_loops().open_desk().counters;
  const auto add = [&](const char* name, const char* help, const Counter& counter) {
    sample(family(out, name, help, false), {}, number(counter));
  };
  add("tributary_open_jobs_opened_total", "Jobs that ranks have opened", counters.opened);
  add("tributary_open_jobs_refused_total", "Requests for such jobs that were refused",
      counters.refused);
  add("tributary_open_jobs_expired_total", "Such jobs that ended by the silence of their members",
      counters.expired);
}

void collect_losses(Families& out, dataplane::Switch& sw) {
  using dataplane::DeviceLosses;
  struct LossMetric {
    const char* name;
    const char* help;
    Counter DeviceLosses::*counter;
  };
  static constexpr std::array kLosses = {
      LossMetric{"tributary_port_rx_missed_total",
                 "Frames for which the device or the kernel's ring had no room",
                 &DeviceLosses::missed},
      LossMetric{"tributary_port_rx_errors_total", "Frames that the device refused",
                 &DeviceLosses::rx_errors},
      LossMetric{"tributary_port_rx_no_buffer_total", "Frames for which there was no packet buffer",
                 &DeviceLosses::no_buffers},
      LossMetric{"tributary_port_tx_errors_total",
                 "Frames that the device took from the switch and did not send",
                 &DeviceLosses::tx_errors},
  };
  for (const auto& metric : kLosses) {
    auto& to = family(out, metric.name, metric.help, false);
    sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
      sample(to, {{"port", port.name()}}, number(port.losses().*metric.counter));
    });
  }
}

void collect_ports(Families& out, dataplane::Switch& sw) {
  using Member = Counter dataplane::PortCounters::*;
  struct PortMetric {
    const char* name;
    const char* help;
    Member counter;
  };
  static constexpr std::array kMetrics = {
      PortMetric{"tributary_port_rx_packets_total", "Frames received",
                 &dataplane::PortCounters::rx_packets},
      PortMetric{"tributary_port_rx_bytes_total", "Bytes of those, without FCS",
                 &dataplane::PortCounters::rx_bytes},
      PortMetric{"tributary_port_tx_packets_total", "Frames sent",
                 &dataplane::PortCounters::tx_packets},
      PortMetric{"tributary_port_tx_bytes_total", "Bytes of those, without FCS",
                 &dataplane::PortCounters::tx_bytes},
      PortMetric{"tributary_port_peer_faults_total",
                 "Times a peer's shared memory vanished during a burst",
                 &dataplane::PortCounters::peer_faults},
      PortMetric{"tributary_port_ecn_marked_total",
                 "Frames that were told of the queue which they joined",
                 &dataplane::PortCounters::ecn_marked},
      PortMetric{"tributary_port_ecn_marked_jobs_total",
                 "Jobs' own packets among the marked frames",
                 &dataplane::PortCounters::ecn_marked_jobs},
      PortMetric{"tributary_port_reassembled_total",
                 "Datagrams to the switch that were put together from fragments",
                 &dataplane::PortCounters::reassembled},
      PortMetric{"tributary_port_fragmented_total", "Frames of the switch that left as fragments",
                 &dataplane::PortCounters::fragmented},
  };
  const auto each = [&](auto f) {
    sw.for_each_port([&](std::size_t place, const dataplane::Port& port) {
      f(port, sw.packet_loops().port_counters(place));
    });
  };
  for (const auto& metric : kMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    each([&](const dataplane::Port& port, const dataplane::PortCounters& counters) {
      sample(to, {{"port", port.name()}}, number(counters.*metric.counter));
    });
  }
  collect_losses(out, sw);
  auto& link = family(out, "tributary_port_link_up", "1 when frames can leave", true);
  sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
    sample(link, {{"port", port.name()}}, port.link().up() ? 1 : 0);
  });
  auto& listening = family(out, "tributary_port_listening",
                           "1 while a server of memif or vhost-user waits for a peer", true);
  sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
    sample(listening, {{"port", port.name()}},
           link_state(sw, port) == LinkState::listening ? 1 : 0);
  });
  auto& drops = family(out, "tributary_drops_total", "Packets that went no further", false);
  each([&](const dataplane::Port& port, const dataplane::PortCounters& counters) {
    for (std::size_t r = 0; r < kDropReasonCount; ++r) {
      const auto reason = static_cast<DropReason>(r);
      sample(drops, {{"port", port.name()}, {"reason", drop_label(reason)}},
             static_cast<double>(counters.drops.get(reason)));
    }
  });
}

void collect_jobs(Families& out, dataplane::Switch& sw) {
  const auto jobs = sw.jobs();
  const auto labels = [&](std::size_t i) {
    Labels all = job_labels(jobs[i].config());
    all.insert(all.begin() + 1, {"job_name", jobs[i].config().name});
    return all;
  };
  std::vector<aggregator::JobCounters> counters;
  for (const auto& job : jobs) counters.push_back(job.engine().counters(job.index));
  for (const auto& metric : kJobMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      sample(to, labels(i), number(counters[i].*metric.counter) * metric.scale);
  }
  auto& pauses = histogram_family(out, "tributary_job_pause_seconds",
                                  "Time that ranks waited for an epoch that follows another one");
  for (std::size_t i = 0; i < jobs.size(); ++i)
    pauses.metric.push_back(
        histogram_of(labels(i), counters[i].pauses, counters[i].pause_ns, 1e-9));
  auto& aborts = family(out, "tributary_job_aborts_total", "Epochs that were aborted", false);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (const auto& abort : kAbortMetrics) {
      Labels with_reason = labels(i);
      with_reason.push_back({"reason", abort.reason});
      sample(aborts, std::move(with_reason), number(counters[i].*abort.counter));
    }
}

// Calls f(labels, counters) for each job in each of its shards.
template <typename F>
void for_each_shard(dataplane::Switch& sw, F f) {
  for (const auto& placed : sw.jobs()) {
    const auto& job = placed.config();
    for (std::uint8_t shard = 0; shard < job.shards; ++shard) {
      Labels labels = job_labels(job);
      labels.insert(labels.begin() + 1, {{"job_name", job.name}, {"shard", std::to_string(shard)}});
      f(std::move(labels), *placed.engine().shard_counters(placed.index, shard));
    }
  }
}

ClientMetric hold_histogram(Labels labels, const aggregator::HoldTimes& times) {
  return histogram_of(std::move(labels), times.ns, times.total_ns, 1e-9);
}

// T22: how long slots are held.
void collect_hold_times(Families& out, dataplane::Switch& sw) {
  MetricFamily& all = histogram_family(out, "tributary_slot_hold_seconds",
                                       "Time that slots were held, of all jobs since the start");
  if (!sw.packet_loops().any_late()) all.metric.push_back(hold_histogram({}, slot_holds(sw)));
  MetricFamily& to =
      histogram_family(out, "tributary_shard_slot_hold_seconds", "Time that slots were held");
  for_each_shard(sw, [&](Labels labels, const aggregator::ShardCounters& c) {
    to.metric.push_back(hold_histogram(std::move(labels), c.slot_hold));
  });
}

void collect_shards(Families& out, dataplane::Switch& sw) {
  for (const auto& metric : kShardMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    for_each_shard(sw, [&](Labels labels, const aggregator::ShardCounters& c) {
      sample(to, std::move(labels), number(c.*metric.counter));
    });
  }
  auto& escalations = family(out, "tributary_shard_escalations_total",
                             "Chunks handed to the completion host", false);
  for_each_shard(sw, [&](const Labels& labels, const aggregator::ShardCounters& c) {
    for (std::size_t r = 1; r < c.escalations.size(); ++r) {
      Labels with_reason = labels;
      with_reason.push_back({"reason", wire::name_of(static_cast<wire::Reason>(r))});
      sample(escalations, std::move(with_reason), number(c.escalations[r]));
    }
  });
  collect_hold_times(out, sw);
}

void collect_fdb(Families& out, dataplane::Switch& sw) {
  const auto& fdb = sw.packet_loops()[0].fdb().counters();  // every lcore has them all
  sample(family(out, "tributary_fdb_entries", "Learned addresses", true), {}, number(fdb.entries));
  auto& events = family(out, "tributary_fdb_events_total", "Events of learned addresses", false);
  sample(events, {{"event", "learned"}}, number(fdb.learned));
  sample(events, {{"event", "moved"}}, number(fdb.moved));
  sample(events, {{"event", "aged"}}, number(fdb.aged));
  sample(events, {{"event", "forgotten"}}, number(fdb.forgotten));
  sample(events, {{"event", "evicted"}}, number(fdb.evicted));
  sample(events, {{"event", "limited"}}, number(fdb.limited));
  sample(events, {{"event", "flapping"}}, number(fdb.flapping));
}

}  // namespace

std::vector<MetricFamily> Metrics::Collect() const {
  const auto held = switch_.hold();
  Families out;
  out.reserve(256);  // family() hands out references
  collect_process(out, switch_);
  collect_open_jobs(out, switch_);
  collect_ports(out, switch_);
  collect_jobs(out, switch_);
  collect_shards(out, switch_);
  collect_completion(out, switch_);
  collect_stragglers(out, switch_);
  collect_loops(out, switch_);
  collect_fdb(out, switch_);
  collect_forwarding(out, switch_);
  collect_telemetry(out, switch_);
  collect_names(out, switch_);
  return out;
}

}  // namespace tributary::control
