#include "config/schema/schema_stragglers.h"

#include "config/plan/aggregation_memory.h"
#include "config/schema/schema.h"

namespace tributary::config {

namespace {

constexpr Duration kMostTime = Duration::seconds(3600);

}  // namespace

const Fields<StragglerPolicy>& waiting_fields() {
  using P = StragglerPolicy;
  static const Fields<P> fields = {
      scalar("degraded_after", &P::degraded_after,
             or_absent(duration(kMinDeadline, kMostTime, Duration::ms(1))),
             "A chunk of a reduction that has waited so long at the completion host is finished "
             "without the ranks that are still missing. All ranks get the same result and the list "
             "of missing ranks. At least `deadline`, at most `lease`. Left out: never, every "
             "result has every rank."),
  };
  return fields;
}

const Fields<StragglerPolicy>& straggler_fields() {
  using P = StragglerPolicy;
  constexpr std::uint32_t kMostOps = 10'000;
  static const Fields<P> fields = [] {
    Fields<P> all = {
        choice(
            "exclude", &P::exclude,
            {{"none", ExcludeBy::none},
             {"largest", ExcludeBy::largest},
             {"threshold", ExcludeBy::threshold}},
            "Children that each switch leaves out of its sums, because they were late in the last "
            "`ops` ops: the `most` latest, or all that were later than `threshold`. Their data "
            "goes to the completion engine; results are the same."),
        scalar("ops", &P::ops, integer<std::uint32_t>(1, kOpHistory),
               "Ops over which lateness is combined: what a child was behind the first."),
        choice("combine", &P::combine, {{"mean", Combine::mean}, {"maximum", Combine::maximum}},
               "Into what the lateness of a child in those ops is combined."),
        scalar("most", &P::most, integer<std::uint32_t>(1, kMaxWorkers),
               "With `largest`: so many children of a switch are excluded at once; one always "
               "stays."),
        scalar("threshold", &P::threshold, duration(Duration::us(1), kMostTime),
               "With `threshold`: a child that is later than this is excluded."),
        scalar("recovered_below", &P::recovered_below, duration(Duration::us(1), kMostTime),
               "An excluded child takes part again when it was behind by less than this in "
               "`recovered_ops` ops in a row. A child that is less late is not excluded; at most "
               "`threshold`."),
        scalar("recovered_ops", &P::recovered_ops, integer<std::uint32_t>(1, kMostOps),
               "See `recovered_below`."),
    };
    all.push_back(waiting_fields().front());
    return all;
  }();
  return fields;
}

}  // namespace tributary::config
