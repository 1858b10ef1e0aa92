#include "control/metrics.h"

#include <arpa/inet.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

#include "control/completion_metrics.h"
#include "control/forwarding_metrics.h"
#include "control/metric_family.h"
#include "control/metric_table.h"
#include "control/straggler_metrics.h"
#include "dataplane/eal.h"

namespace tributary::control {
namespace {

void collect_process(Families& out, dataplane::Switch& sw) {
  sample(family(out, "tributary_build_info", "Version of the program and of DPDK; always 1", true),
         {{"version", TRIBUTARY_VERSION}, {"dpdk", dataplane::dpdk_version()}}, 1);
  sample(family(out, "tributary_packet_buffers", "Packet buffers in the pool", true), {},
         sw.pool().buffers());
  sample(family(out, "tributary_packet_buffers_free", "Packet buffers not in use", true), {},
         sw.pool().free_buffers());
  sample(family(out, "tributary_aggregation_memory_bytes", "Reserved for sums and results", true),
         {}, static_cast<double>(sw.worker().engine().memory_bytes()));
  sample(family(out, "tributary_outbox_overflows_total",
                "Messages of the engine that found no room; any is a defect", false),
         {}, number(sw.worker().outbox_overflows()));
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
  };
  const auto& ports = sw.ports();
  for (const auto& metric : kMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    for (std::size_t i = 0; i < ports.size(); ++i)
      sample(to, {{"port", ports[i]->name()}},
             number(sw.worker().port_counters(i).*metric.counter));
  }
  auto& link = family(out, "tributary_port_link_up", "1 when frames can leave", true);
  for (const auto& port : ports) sample(link, {{"port", port->name()}}, port->link_up() ? 1 : 0);
  auto& drops = family(out, "tributary_drops_total", "Packets that went no further", false);
  for (std::size_t i = 0; i < ports.size(); ++i)
    for (std::size_t r = 0; r < kDropReasonCount; ++r) {
      const auto reason = static_cast<DropReason>(r);
      sample(drops, {{"port", ports[i]->name()}, {"reason", drop_label(reason)}},
             static_cast<double>(sw.worker().port_counters(i).drops.get(reason)));
    }
}

void collect_jobs(Families& out, dataplane::Switch& sw) {
  const auto& engine = sw.worker().engine();
  const auto labels = [&](std::size_t i) {
    const auto& job = engine.job_config(i);
    return Labels{{"job", std::to_string(job.id)}, {"name", job.name}};
  };
  std::vector<aggregator::JobCounters> counters;
  for (std::size_t i = 0; i < engine.job_count(); ++i) counters.push_back(engine.counters(i));
  for (const auto& metric : kJobMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    for (std::size_t i = 0; i < engine.job_count(); ++i)
      sample(to, labels(i), number(counters[i].*metric.counter) * metric.scale);
  }
  auto& aborts = family(out, "tributary_job_aborts_total", "Epochs that were aborted", false);
  for (std::size_t i = 0; i < engine.job_count(); ++i)
    for (const auto& abort : kAbortMetrics) {
      Labels with_reason = labels(i);
      with_reason.push_back({"reason", abort.reason});
      sample(aborts, std::move(with_reason), number(counters[i].*abort.counter));
    }
}

// Calls f(labels, counters) for each job in each of its shards.
template <typename F>
void for_each_shard(dataplane::Switch& sw, F f) {
  const auto& engine = sw.worker().engine();
  for (std::size_t i = 0; i < engine.job_count(); ++i) {
    const auto& job = engine.job_config(i);
    for (std::uint8_t shard = 0; shard < job.shards; ++shard)
      f(Labels{{"job", std::to_string(job.id)},
               {"name", job.name},
               {"shard", std::to_string(shard)}},
        *engine.shard_counters(i, shard));
  }
}

ClientMetric histogram_of(Labels labels, const aggregator::HoldTimes& times) {
  using aggregator::HoldTimes;
  ClientMetric metric;
  metric.label = std::move(labels);
  auto& histogram = metric.histogram;
  histogram.sample_sum = number(times.total_ns) * 1e-9;
  for (std::size_t b = 0; b < HoldTimes::kBuckets; ++b) {
    histogram.sample_count += times.buckets[b].get();
    const bool last = b + 1 == HoldTimes::kBuckets;
    histogram.bucket.push_back(
        {histogram.sample_count,
         last ? std::numeric_limits<double>::infinity() : HoldTimes::bound(b).to_seconds()});
  }
  return metric;
}

// T22: how long slots are held.
void collect_hold_times(Families& out, dataplane::Switch& sw) {
  out.push_back({"tributary_slot_hold_seconds",
                 "Time that slots were held, of all jobs since the start",
                 MetricType::Histogram,
                 {histogram_of({}, sw.worker().engine().slot_holds())}});
  out.push_back({"tributary_shard_slot_hold_seconds",
                 "Time that slots were held",
                 MetricType::Histogram,
                 {}});
  MetricFamily& to = out.back();
  for_each_shard(sw, [&](Labels labels, const aggregator::ShardCounters& c) {
    to.metric.push_back(histogram_of(std::move(labels), c.slot_hold));
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

void collect_loop(Families& out, dataplane::Switch& sw) {
  const auto& counters = sw.worker().counters();
  sample(family(out, "tributary_loop_turns_total", "Turns of the packet loop", false), {},
         number(counters.turns));
  sample(family(out, "tributary_loop_idle_turns_total", "Turns without a packet", false), {},
         number(counters.idle_turns));
  sample(family(out, "tributary_loop_turn_seconds_max",
                "Longest from the beginning of a turn to that of the next", true),
         {}, number(counters.longest_turn_ns) * 1e-9);
  sample(family(out, "tributary_loop_sleep_seconds_total", "Time asked to sleep", false), {},
         number(counters.sleep_ns) * 1e-9);
  using Member = Counter dataplane::StageCounters::*;
  struct StageMetric {
    const char* name;
    const char* help;
    Member counter;
  };
  static constexpr std::array kMetrics = {
      StageMetric{"tributary_stage_calls_total", "Times the stage had something to do",
                  &dataplane::StageCounters::calls},
      StageMetric{"tributary_stage_packets_total", "Packets it handled",
                  &dataplane::StageCounters::packets},
      StageMetric{"tributary_stage_cycles_total", "CPU cycles that took",
                  &dataplane::StageCounters::cycles},
      StageMetric{"tributary_stage_idle_cycles_total", "CPU cycles spent finding nothing to do",
                  &dataplane::StageCounters::idle_cycles},
  };
  const auto& stages = sw.worker().stages();
  for (const auto& metric : kMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    for (std::size_t s = 0; s < stages.size(); ++s)
      sample(to, {{"stage", dataplane::name_of(static_cast<dataplane::Stage>(s))}},
             number(stages[s].*metric.counter));
  }
}

void collect_fdb(Families& out, dataplane::Switch& sw) {
  const auto& fdb = sw.worker().fdb().counters();
  sample(family(out, "tributary_fdb_entries", "Learned addresses", true), {}, number(fdb.entries));
  auto& events = family(out, "tributary_fdb_events_total", "What happened to addresses", false);
  sample(events, {{"event", "learned"}}, number(fdb.learned));
  sample(events, {{"event", "moved"}}, number(fdb.moved));
  sample(events, {{"event", "aged"}}, number(fdb.aged));
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
  collect_ports(out, switch_);
  collect_jobs(out, switch_);
  collect_shards(out, switch_);
  collect_completion(out, switch_);
  collect_stragglers(out, switch_);
  collect_loop(out, switch_);
  collect_fdb(out, switch_);
  collect_forwarding(out, switch_);
  return out;
}

MetricsServer::MetricsServer(const std::string& listen,
                             std::shared_ptr<prometheus::Collectable> source)
    : listen_(listen), source_(std::move(source)) {
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(listen, 1);
  } catch (const std::exception&) {
    throw std::runtime_error("metrics.listen: " + listen +
                             " cannot be bound; another process may listen there");
  }
  exposer_->RegisterCollectable(source_);
}

// The HTTP server notices that it is to end when its poll() returns, after 2 s or upon a
// connection; so it gets one.
MetricsServer::~MetricsServer() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port()));
  inet_pton(AF_INET, listen_.substr(0, listen_.find(':')).c_str(), &address.sin_addr);
  std::atomic<bool> ended{false};
  std::thread knock([&] {
    while (!ended.load()) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      close(fd);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  exposer_.reset();
  ended.store(true);
  knock.join();
}

int MetricsServer::port() const {
  return exposer_->GetListeningPorts().front();
}

}  // namespace tributary::control
