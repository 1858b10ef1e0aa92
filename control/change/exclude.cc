#include "control/change/exclude.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "control/text/late_loops.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

std::string refusal_text(const ExcludeRequest& request, const aggregator::Ruling& ruling) {
  using enum aggregator::Ruling::Refusal;
  std::string text = "rank " + std::to_string(request.rank) + " of job " +
                     std::to_string(request.job) + ": " + aggregator::text_of(ruling.refusal);
  const std::string op = std::to_string(ruling.op);
  switch (ruling.refusal) {
    case begun: return text + "; allowed: --from " + op + " or later";
    case excluded: return text + ", from op " + op + " on";
    case returning: return text + "; it does from op " + op + " on";
    case no_child: return text + "; `show tree` lists them";
    default: return text;
  }
}

// Already as it is asked for, maybe since a policy has seen to it on this plane.
bool is_so(const aggregator::Ruling& ruling, bool exclude) {
  using enum aggregator::Ruling::Refusal;
  return ruling.refusal == none || ruling.refusal == (exclude ? excluded : not_excluded);
}

}  // namespace

// Planes decide separately, since each may have begun other ops: a plane stays changed if another
// refuses. Asking again is then enough.
std::uint32_t exclude_rank(dataplane::Switch& sw, const ExcludeRequest& request,
                           const std::function<void(const std::string&)>& report) {
  const auto held = sw.hold();
  check_in_time(sw, request.job);
  std::vector<aggregator::Ruling> rulings;
  for (dataplane::PacketLoop* const packet_loop : sw.owners_of(request.job))
    rulings.push_back(on_loop(*packet_loop, [request](dataplane::PacketLoop& w, Instant now) {
      const auto child = w.engine().worker_child(request.job, request.rank);
      // The engine itself refuses a job that is not here.
      return w.exclude(request.job, child.value_or(0xFFFFFFFF), request.exclude, request.from, now);
    }));
  const auto done = [](const auto& r) { return r.refusal == aggregator::Ruling::Refusal::none; };
  const bool any = std::any_of(rulings.begin(), rulings.end(), done);
  std::uint32_t from = 0;
  for (std::size_t plane = 0; plane < rulings.size(); ++plane) {
    const aggregator::Ruling& ruling = rulings[plane];
    if (!done(ruling) && !(any && is_so(ruling, request.exclude)))
      throw std::invalid_argument(
          (rulings.size() == 1 ? "" : "plane " + std::to_string(plane) + ": ") +
          refusal_text(request, ruling));
    from = std::max(from, ruling.op);
  }
  report("job " + std::to_string(request.job) + ": rank " + std::to_string(request.rank) +
         (request.exclude ? " is excluded" : " takes part again") + " by command from op " +
         std::to_string(from) + " on");
  return from;
}

}  // namespace tributary::control
