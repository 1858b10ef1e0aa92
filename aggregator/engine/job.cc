#include "aggregator/engine/job.h"

namespace tributary::aggregator {
const char* name_of(JobState state) {
  switch (state) {
    case JobState::idle: return "idle";
    case JobState::forming: return "forming";
    case JobState::running: return "running";
    case JobState::aborted: return "aborted";
  }
  return "?";
}

Job::Job(const config::JobConfig& job_config, std::uint32_t job_place,
         std::vector<std::uint16_t> pinned_ports)
    : config(job_config),
      child_map(job_config),
      place(job_place),
      membership(child_map.count(), config.lease, std::move(pinned_ports)),
      forming(child_map),
      away(config.shards) {}

wire::Header Job::header(wire::PacketType type) const {
  wire::Header h;
  h.type = type;
  h.job = config.id;
  h.epoch = membership.epoch();
  h.fan_in = static_cast<std::uint16_t>(child_map.count());
  h.plane = config.plane;
  return h;
}

void Job::resize(std::uint32_t workers) {
  membership.resize(workers);
  child_map.resize(workers);
}

void Job::start_epoch(std::uint16_t epoch, std::uint64_t serial, Instant now) {
  if (drain.forming.resumes() && drain.paused_since) {
    const auto pause = static_cast<std::uint64_t>((now - *drain.paused_since).to_ns());
    counters.pause_ns.add(pause);
    counters.last_pause_ns.set(pause);
    counters.pauses.add(pause);
  }
  if (drain.forming.retries()) counters.retries.add();
  const std::uint8_t held_by = drain.held_by;
  drain = {};
  drain.held_by = held_by;
  membership.start(epoch, now);
  if (config::resizes(config)) newcomers_from = child_map.count();
  epoch_serial = serial;
  last_abort.epoch = 0;  // the last abort is still shown, but no longer sent
  counters.epochs.add();
}

std::size_t Job::table_bytes() const {
  return config::kJobBytes + config::copy_bytes(config) + child_map.table_bytes() +
         membership.table_bytes() + forming.table_bytes() + last_abort.table_bytes() +
         away.capacity() * sizeof(Away);
}

}  // namespace tributary::aggregator
