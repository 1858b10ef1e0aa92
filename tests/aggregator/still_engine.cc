#include "tests/aggregator/still_engine.h"

#include <array>

#include "config/plan/aggregation_memory.h"

namespace tributary::aggregator {
namespace {

// Events of all engines of the test program while they were checked for allocations. Each has to
// occur: a path that no test takes any more would not be checked.
class PathsTaken : public testing::Environment {
 public:
  void add(const StillEngine& engine) {
    for (std::size_t i = 0; i < engine.job_count(); ++i) {
      add(engine.counters(i));
      const JobCounters counters = engine.counters(i);
      if (counters.completions.get() + counters.host_results.get() != 0) add(engine.job_config(i));
    }
    for (std::size_t c = 0; c < results_.size(); ++c) results_[c] += engine.results()[c];
  }
  // Not of a few tests by name.
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*" || testing::UnitTest::GetInstance()->Failed()) return;
    for (std::size_t i = 0; i < kCounted.size(); ++i)
      EXPECT_GT(counted_[i], 0u) << "nowhere counted: " << kCounted[i].name;
    // A sum that goes to be verified is counted as sent up.
    for (std::size_t r = 1; r < static_cast<std::size_t>(wire::Reason::verify); ++r)
      EXPECT_GT(escalations_[r], 0u)
          << "never escalated for " << wire::name_of(static_cast<wire::Reason>(r));
    for (std::size_t c = 0; c < results_.size(); ++c)
      EXPECT_GT(results_[c], 0u) << "no result of "
                                 << wire::name_of(static_cast<wire::Collective>(c));
    for (std::size_t m = 0; m < kModes.size(); ++m)
      EXPECT_GT(modes_[m], 0u) << "no result of a job with " << kModes[m].name;
  }

 private:
  struct Counted {
    const char* name;
    Counter JobCounters::*figure;
  };
  using C = JobCounters;
  static constexpr std::array kCounted = {
      Counted{"contributions", &C::contributions},
      Counted{"completions", &C::completions},
      Counted{"duplicates", &C::duplicates},
      Counted{"stale", &C::stale},
      Counted{"probes", &C::probes},
      Counted{"resends", &C::resends},
      Counted{"results resent", &C::results_resent},
      Counted{"pending replies", &C::pending_replies},
      Counted{"unknown replies", &C::unknown_replies},
      Counted{"saturated", &C::saturated},
      Counted{"collisions", &C::collisions},
      Counted{"preemptions", &C::preemptions},
      Counted{"forwarded", &C::forwarded},
      Counted{"sent up", &C::sent_up},
      Counted{"sent up again", &C::resent_up},
      Counted{"asked above", &C::probes_up},
      Counted{"recalls", &C::recalls},
      Counted{"results of hosts and parents", &C::host_results},
      Counted{"degraded results", &C::degraded},
      Counted{"late data", &C::late},
      Counted{"marked data", &C::marked_data},
      Counted{"slot marks", &C::slot_marks},
      Counted{"marked results", &C::marked_results},
      Counted{"cache hits", &C::cache_hits},
      Counted{"cache misses", &C::cache_misses},
      Counted{"cache evictions", &C::cache_evictions},
      Counted{"NACKs", &C::nacks},
      Counted{"joins", &C::joins},
      Counted{"epochs", &C::epochs},
      Counted{"aborts: deadline", &C::aborts_deadline},
      Counted{"aborts: lease", &C::aborts_lease},
      Counted{"aborts: left", &C::aborts_left},
      Counted{"aborts: restart", &C::aborts_restart},
      Counted{"aborts: mismatch", &C::aborts_mismatch},
      Counted{"aborts: shutdown", &C::aborts_shutdown},
      Counted{"aborts: parent", &C::aborts_parent},
      Counted{"aborts: host", &C::aborts_host},
      Counted{"aborts: above", &C::aborts_above},
      Counted{"aborts: below", &C::aborts_below},
      Counted{"aborts: change", &C::aborts_change},
      Counted{"aborts: broken", &C::aborts_broken},
  };
  struct Mode {
    const char* name;
    bool (*is_of)(const config::JobConfig&);
  };
  static constexpr std::array kModes = {
      Mode{"a declared order", [](const auto& j) { return j.order == wire::Order::reproducible; }},
      Mode{"inner brackets", [](const auto& j) { return config::bracket_depth(j) > 1; }},
      Mode{"collected data", [](const auto& j) { return j.trigger == config::Trigger::collect; }},
      Mode{"narrow partials", [](const auto& j) { return j.partials == wire::Partials::narrow; }},
      Mode{"modular sums", [](const auto& j) { return j.arithmetic == wire::Arithmetic::modular; }},
      Mode{"dynamic slots", [](const auto& j) { return j.slots == config::SlotMode::dynamic; }},
      Mode{"verified sums", [](const auto& j) { return j.verify; }},
      Mode{"sums that are kept",
           [](const auto& j) { return j.release == config::Release::returned; }},
      Mode{"a parent", [](const auto& j) { return j.parent.has_value(); }},
      Mode{"switches below", [](const auto& j) { return !j.parent && config::spans_switches(j); }},
      Mode{"several shards", [](const auto& j) { return j.shards > 1; }},
      Mode{"several planes", [](const auto& j) { return j.planes > 1; }},
      Mode{"more than 64 children", [](const auto& j) { return config::job_fan_in(j) > 64; }},
  };

  void add(const JobCounters& counters) {
    for (std::size_t i = 0; i < kCounted.size(); ++i)
      counted_[i] += (counters.*kCounted[i].figure).get();
    for (std::size_t r = 0; r < kEscalationReasons; ++r)
      escalations_[r] += counters.escalations[r].get();
  }
  void add(const config::JobConfig& job) {
    for (std::size_t m = 0; m < kModes.size(); ++m) modes_[m] += kModes[m].is_of(job) ? 1 : 0;
  }

  std::array<std::uint64_t, kCounted.size()> counted_{};
  std::array<std::uint64_t, kEscalationReasons> escalations_{};
  std::array<std::uint64_t, kModes.size()> modes_{};
  StillEngine::Results results_{};
};

PathsTaken& paths_taken() {
  // Google Test destroys it.
  static auto* const taken = new PathsTaken;
  return *taken;
}
[[maybe_unused]] const auto* const registered = testing::AddGlobalTestEnvironment(&paths_taken());

}  // namespace

StillEngine::~StillEngine() {
  paths_taken().add(*this);
}

}  // namespace tributary::aggregator
