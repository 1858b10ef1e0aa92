#include "control/open/open_watch.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "config/text/codec.h"

namespace tributary::control {
namespace {

// Ranks repeat their JOIN every tenth of a second.
constexpr std::chrono::milliseconds kOpenLookPeriod(100);
constexpr Duration kBetweenLines = Duration::seconds(1);
// Each is a change of the configuration, which others wait for; the rest ask again.
constexpr std::size_t kMostPerLook = 8;

std::string job_text(std::uint32_t job) {
  return "job " + std::to_string(job);
}

}  // namespace

OpenWatch::OpenWatch(dataplane::Switch& sw, Tell tell, Change change)
    : desk_(sw.packet_loops().open_desk()),
      switch_(sw),
      tell_(tell),
      change_(std::move(change)),
      thread_(kOpenLookPeriod, [this] { look(clock_.now()); }) {}

void OpenWatch::look(Instant now) {
  config::OpenJobsConfig open;
  std::vector<OpenBook::Sign> signs;
  {
    const auto held = switch_.hold();
    open = switch_.config().open_jobs;
    for (const dataplane::LoopJob& placed : switch_.jobs()) {
      if (!placed.config().open) continue;
      const aggregator::JobCounters c = placed.engine().counters(placed.index);
      // A JOIN that the switch above refuses is refused here.
      signs.push_back({placed.config().id, c.members.get(), c.joins.get() + c.nacks.get()});
    }
  }
  desk_.allow(open.ids);
  const std::vector<aggregator::OpenRequest> requests = desk_.take(now);
  for (std::size_t i = 0; i < std::min(requests.size(), kMostPerLook); ++i)
    consider(requests[i], now);
  end(book_.silent(signs, open.lease, now), open.lease);
}

void OpenWatch::consider(const aggregator::OpenRequest& request, Instant now) {
  OpenBook::Answer answer;
  std::optional<std::uint32_t> judge;  // this switch
  std::string wrong;
  const auto edit = [&](const config::SwitchConfig& running, std::vector<config::JobConfig>& open) {
    answer = book_.decide(running, request, now);
    judge = running.id;
    if (answer.job) open.push_back(*answer.job);
  };
  try {
    change_(edit);
  } catch (const TakenButNotWhole& change) {
    tell_.warn(job_text(request.job) + " is opened: " + change.what());
  } catch (const std::exception& error) {
    if (!judge) return;  // another change is under way: its JOIN comes again
    wrong = error.what();
  }
  if (!wrong.empty())
    return refuse(request, aggregator::open_refused(wire::OpenLimit::other, *judge, 0, 0), wrong,
                  now);
  if (answer.refusal.why != wire::Reason::none)
    return refuse(request, answer.refusal, answer.text, now);
  if (!answer.job) return;
  desk_.counters.opened.add();
  tell_(job_text(request.job) + " is opened by a " + (request.from_switch ? "switch" : "rank") +
        ": " + wire::text_of(request.task));
}

void OpenWatch::refuse(const aggregator::OpenRequest& request, const aggregator::JoinRefusal& why,
                       const std::string& text, Instant now) {
  desk_.refuse(request, why, now);
  desk_.counters.refused.add();
  if (now < next_line_) return;
  next_line_ = now + kBetweenLines;
  tell_.warn(job_text(request.job) + " is not opened: " + text);
}

void OpenWatch::end(const std::vector<std::uint32_t>& silent, Duration lease) {
  if (silent.empty()) return;
  const auto edit = [&](const config::SwitchConfig&, std::vector<config::JobConfig>& open) {
    std::erase_if(open, [&](const config::JobConfig& job) {
      return std::find(silent.begin(), silent.end(), job.id) != silent.end();
    });
  };
  try {
    change_(edit);
  } catch (const TakenButNotWhole& change) {
    tell_.warn(std::string("jobs that ranks opened end: ") + change.what());
  } catch (const std::exception&) {
    return;  // the next look tries again
  }
  for (const std::uint32_t job : silent) {
    desk_.counters.expired.add();
    tell_(job_text(job) + ", which a rank opened, ends: its members were silent for " +
          config::format_duration(lease));
  }
}

}  // namespace tributary::control
