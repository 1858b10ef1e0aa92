#include "control/stragglers/straggler_watch.h"

#include <chrono>
#include <stdexcept>

#include "aggregator/chunk/child_map.h"
#include "config/plan/lcore_plan.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

constexpr std::chrono::milliseconds kPeriod(100);

}  // namespace

StragglerReport ask_about(const dataplane::PacketLoop& packet_loop, Instant now, std::size_t place,
                          const config::JobConfig& job, std::uint32_t from) {
  const aggregator::Engine& engine = packet_loop.engine();
  StragglerReport r;
  if (place >= engine.job_count() || engine.job_config(place) != job) return r;
  r.epoch = engine.running_epoch(job.id).value_or(0);
  r.ops = engine.lateness(job.id, now, from);
  for (const Exclusion& ops : engine.exclusions(place)) r.excluded.push_back(ops.open());
  return r;
}

StragglerWatch::StragglerWatch(dataplane::Switch& sw,
                               std::function<void(const std::string&)> report)
    : report_(std::move(report)) {
  std::vector<std::size_t> next(sw.packet_loops().size());
  for (const config::JobConfig& job : sw.config().jobs)
    for (std::uint8_t plane = 0; plane < job.planes; ++plane) {
      const std::size_t lcore = config::job_lcore(sw.config(), job, plane);
      const std::size_t place = next[lcore]++;
      if (job.stragglers.exclude != config::ExcludeBy::none)
        jobs_.emplace_back(job, plane, sw.packet_loops()[lcore], place);
    }
  if (!jobs_.empty()) thread_.emplace(kPeriod, [this] { look_at_all(); });
}

void StragglerWatch::look_at_all() {
  for (Job& job : jobs_) {
    try {
      look(job);
    } catch (const std::runtime_error&) {
      // The loop did not answer; the history waits for us.
    }
  }
}

void StragglerWatch::look(Job& job) {
  const StragglerReport r =
      on_loop(*job.packet_loop, [place = job.place, config = job.config, from = job.next_op](
                                    dataplane::PacketLoop& w, Instant now) {
        return ask_about(w, now, place, *config, from);
      });
  if (r.epoch != job.epoch) {
    job.epoch = r.epoch;
    job.next_op = 0;
    return job.history.reset();
  }
  if (r.epoch == 0) return;
  for (std::uint32_t child = 0; child < r.excluded.size(); ++child)
    if (r.excluded[child] != job.history.excluded(child))
      job.history.set_excluded(child, r.excluded[child]);
  for (const aggregator::OpLateness& op : r.ops) {
    // The newest may have chunks to come, and show more.
    if (!op.complete || &op == &r.ops.back()) return;
    job.next_op = op.op + 1;
    const StragglerHistory::Changes changes = job.history.add(op.behind);
    for (const std::uint32_t child : changes.exclude) change(job, child, true);
    for (const std::uint32_t child : changes.take_back) change(job, child, false);
  }
}

void StragglerWatch::change(Job& job, std::uint32_t child, bool exclude) {
  const auto ruling = on_loop(*job.packet_loop, [id = job.config->id, child, exclude](
                                                    dataplane::PacketLoop& w, Instant now) {
    return w.exclude(id, child, exclude, std::nullopt, now);
  });
  const bool done = ruling.refusal == aggregator::Ruling::Refusal::none;
  if (!done) job.history.set_excluded(child, !exclude);
  const aggregator::ChildMap children(*job.config);
  std::string line = "job " + place_name(*job.config) + ": ";
  line.append(children[child].is_switch ? "switch " : "rank ");
  line.append(std::to_string(children[child].id));
  if (!done)
    line.append(exclude ? " is late, but is not excluded: " : " is well, but stays excluded: ")
        .append(aggregator::text_of(ruling.refusal));
  else
    line.append(exclude ? " is excluded" : " takes part again")
        .append(" from op ")
        .append(std::to_string(ruling.op))
        .append(" on");
  report_(line);
}

}  // namespace tributary::control
