#include "control/exclude.h"

#include <stdexcept>
#include <string>

#include "control/show_text.h"

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

}  // namespace

std::uint32_t exclude_rank(dataplane::Switch& sw, const ExcludeRequest& request) {
  const auto held = sw.hold();
  const auto ruling = on_loop(sw.owner_of(request.job), [request](dataplane::Worker& w,
                                                                  Instant now) {
    const auto child = w.engine().worker_child(request.job, request.rank);
    // Of a job that is not here the engine says so itself.
    return w.exclude(request.job, child.value_or(0xFFFFFFFF), request.exclude, request.from, now);
  });
  if (ruling.refusal != aggregator::Ruling::Refusal::none)
    throw std::invalid_argument(refusal_text(request, ruling));
  return ruling.op;
}

}  // namespace tributary::control
