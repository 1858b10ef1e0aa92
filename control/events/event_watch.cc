#include "control/events/event_watch.h"

#include <chrono>
#include <stdexcept>

#include "aggregator/chunk/child_map.h"
#include "control/text/look.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

constexpr std::chrono::seconds kPeriod(1);

void look_at_hosts_and_drops(dataplane::Switch& sw, SwitchState& state) {
  const auto held = sw.hold();
  for (const completion::SeatStatus& seat : hosts_of(sw))
    state.seats.push_back({seat.job, seat.shard, seat.host, completion::name_of(seat.chosen)});
  for (const PortDrops& drops : drops_of(sw))
    state.drops.push_back({drops.port, drop_label(drops.reason), drops.packets});
}

std::vector<ChildTimes> times_of_children(dataplane::Switch& sw) {
  std::vector<ChildTimes> times;
  const auto held = sw.hold();
  for (const auto& job : sw.jobs()) {
    const aggregator::ChildMap children(job.config());
    for (std::uint32_t c = 0; c < children.count(); ++c) {
      const aggregator::ChildTotals totals = job.engine().child_totals(job.index, c);
      times.push_back(
          {job.config().id, job.config().plane,
           (children[c].is_switch ? "switch " : "rank ") + std::to_string(children[c].id),
           totals.timed_arrivals.get(), totals.lateness_ns.get()});
    }
  }
  return times;
}

}  // namespace

SwitchLook::SwitchLook(dataplane::Switch& sw) : switch_(sw), read_(sw.packet_loops().size()) {}

SwitchState SwitchLook::operator()() {
  SwitchState state;
  std::vector<std::uint64_t> read = read_;
  look_at_epochs(state, read);
  look_at_hosts_and_drops(switch_, state);
  state.children = times_of_children(switch_);
  read_ = read;
  return state;
}

// Each loop answers at once for all its jobs, so none is passed over if it changes in between.
void SwitchLook::look_at_epochs(SwitchState& state, std::vector<std::uint64_t>& read) {
  struct Answer {
    aggregator::EpochRecords epochs;
    Instant now;
  };
  const auto held = switch_.hold();
  for (const config::JobConfig& job : switch_.config().jobs) state.jobs[job.id] = job.name;
  for (std::size_t lcore = 0; lcore < read.size(); ++lcore) {
    dataplane::PacketLoop& loop = switch_.packet_loops()[lcore];
    if (loop.is_late()) {
      state.whole = false;
      continue;
    }
    const Answer answer =
        on_loop(loop, [since = read[lcore]](dataplane::PacketLoop& of, Instant now) {
          return Answer{of.engine().epoch_records(since), now};
        });
    const auto at = std::chrono::system_clock::now();
    for (const aggregator::EpochRecord& record : answer.epochs.records)
      state.epochs.push_back(
          {lcore, record,
           at - std::chrono::duration_cast<std::chrono::system_clock::duration>(
                    std::chrono::nanoseconds((answer.now - record.at).to_ns()))});
    read[lcore] = answer.epochs.until;
  }
}

EventWatch::EventWatch(std::function<SwitchState()> look, EventLog& log)
    : look_(std::move(look)), log_(log) {
  thread_.emplace(kPeriod, [this] { look_once(); });
}

// The last look is taken at the end, so that the log has why the jobs ended.
EventWatch::~EventWatch() {
  thread_.reset();
  look_once();
}

void EventWatch::look_once() {
  try {
    for (Event& event : differ_.look(look_(), std::chrono::system_clock::now()))
      log_.add(std::move(event));
  } catch (const std::runtime_error&) {
    // A loop did not answer: the next look sees what this one would have.
  }
}

}  // namespace tributary::control
