#include "control/metrics/loop_metrics.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "dataplane/host/tsc_clock.h"

namespace tributary::control {
namespace {

std::string text(std::size_t lcore) {
  return std::to_string(lcore);
}

void collect_turns(Families& out, const dataplane::PacketLoops& loops) {
  using Counters = dataplane::PacketLoop::Counters;
  struct LoopMetric {
    const char* name;
    const char* help;
    bool gauge;
    double scale;  // exported value per counted unit
    Counter Counters::*counter;
  };
  static constexpr std::array kMetrics = {
      LoopMetric{"tributary_loop_turns_total", "Turns of the packet loop", false, 1,
                 &Counters::turns},
      LoopMetric{"tributary_loop_idle_turns_total", "Turns without a packet", false, 1,
                 &Counters::idle_turns},
      LoopMetric{"tributary_loop_turn_seconds_max",
                 "Longest from the beginning of a turn to that of the next", true, 1e-9,
                 &Counters::longest_turn_ns},
      LoopMetric{"tributary_loop_sleep_seconds_total", "Time asked to sleep", false, 1e-9,
                 &Counters::sleep_ns},
  };
  for (const auto& metric : kMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    for (std::size_t i = 0; i < loops.size(); ++i)
      sample(to, {{"lcore", text(i)}}, number(loops[i].counters().*metric.counter) * metric.scale);
  }
}

void collect_late(Families& out, const dataplane::PacketLoops& loops) {
  auto& to = family(out, "tributary_loop_late",
                    "1: the packet loop has yet to come to a change of the configuration", true);
  for (std::size_t i = 0; i < loops.size(); ++i)
    sample(to, {{"lcore", text(i)}}, loops[i].is_late() ? 1 : 0);
}

// Calls f(labels, counters) for each stage of each lcore.
template <typename F>
void for_each_stage(const dataplane::PacketLoops& loops, F f) {
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (std::size_t s = 0; s < dataplane::kStageCount; ++s)
      f(Labels{{"lcore", text(i)}, {"stage", dataplane::name_of(static_cast<dataplane::Stage>(s))}},
        loops[i].stages()[s]);
}

void collect_stages(Families& out, const dataplane::PacketLoops& loops) {
  struct StageMetric {
    const char* name;
    const char* help;
    Counter dataplane::StageCounters::*counter;
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
  for (const auto& metric : kMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    for_each_stage(loops, [&](Labels labels, const dataplane::StageCounters& stage) {
      sample(to, std::move(labels), number(stage.*metric.counter));
    });
  }
  auto& times = histogram_family(out, "tributary_stage_call_seconds",
                                 "Time of each call that had something to do");
  const double seconds_per_cycle = 1 / dataplane::tsc_hz();
  for_each_stage(loops, [&](Labels labels, const dataplane::StageCounters& stage) {
    times.metric.push_back(
        histogram_of(std::move(labels), stage.call_cycles, stage.cycles, seconds_per_cycle));
  });
}

void collect_queues(Families& out, dataplane::Switch& sw) {
  auto& to = family(out, "tributary_rx_queue_packets_total",
                    "Frames that an lcore took from a queue", false);
  for (std::size_t i = 0; i < sw.packet_loops().size(); ++i)
    for (const auto& queue : sw.packet_loops()[i].queues())
      sample(to,
             {{"port", sw.port_name(queue.port)},
              {"queue", std::to_string(queue.queue)},
              {"lcore", text(i)}},
             number(queue.packets));
}

// Between the first lcore and each other. None where snooping is off, or there is one lcore.
void collect_groups(Families& out, const dataplane::PacketLoops& loops) {
  const std::size_t lcores = loops.group_rings() == nullptr ? 0 : loops.size();
  const auto each = [&](const char* name, const char* help, bool back, auto member) {
    auto& to = family(out, name, help, false);
    const auto one = [&](std::size_t from, std::size_t into) {
      sample(to, {{"from", text(from)}, {"to", text(into)}},
             static_cast<double>(handed_groups(loops, from, into).*member));
    };
    for (std::size_t lcore = 1; lcore < lcores; ++lcore) {
      one(lcore, 0);
      if (back) one(0, lcore);
    }
  };
  each("tributary_handover_groups_total",
       "IGMP and MLD messages to the first lcore, and what it has told of groups", true,
       &HandedGroups::over);
  each("tributary_handover_groups_full_total", "Messages dropped for want of room", false,
       &HandedGroups::full);
}

// None where there is one lcore.
void collect_handover(Families& out, const dataplane::Handover* handover) {
  using dataplane::TrafficClass;
  using Counters = dataplane::HandoverPath::Counters;
  const std::size_t lcores = handover == nullptr ? 0 : handover->lcores();
  const auto for_each_path = [&](auto f) {
    for (std::size_t from = 0; from < lcores; ++from)
      for (std::size_t into = 0; into < lcores; ++into)
        if (from != into)
          f(Labels{{"from", text(from)}, {"to", text(into)}}, handover->path(from, into).counters);
  };
  const auto of_classes = [&](const char* name, const char* help, auto counters) {
    auto& to = family(out, name, help, false);
    for_each_path([&](const Labels& labels, const Counters& path) {
      for (const TrafficClass traffic : {TrafficClass::jobs, TrafficClass::others}) {
        Labels with_class = labels;
        with_class.push_back({"traffic", traffic == TrafficClass::jobs ? "jobs" : "others"});
        sample(to, std::move(with_class),
               number((path.*counters)[static_cast<std::size_t>(traffic)]));
      }
    });
  };
  const auto of_path = [&](const char* name, const char* help, Counter Counters::*counter) {
    auto& to = family(out, name, help, false);
    for_each_path([&](Labels labels, const Counters& path) {
      sample(to, std::move(labels), number(path.*counter));
    });
  };
  of_classes("tributary_handover_frames_total", "Frames handed from one lcore to another",
             &Counters::frames);
  of_classes("tributary_handover_full_total", "Frames dropped because their class's ring was full",
             &Counters::full);
  of_path("tributary_handover_addresses_total", "Learned addresses handed over",
          &Counters::addresses);
  of_path("tributary_handover_addresses_lost_total", "Learned addresses that found their ring full",
          &Counters::addresses_lost);
}

}  // namespace

HandedGroups handed_groups(const dataplane::PacketLoops& loops, std::size_t from, std::size_t to) {
  const dataplane::GroupRings* const ways = loops.group_rings();
  if (ways == nullptr || (from != 0 && to != 0)) return {};
  const auto& counters = ways->of(std::max(from, to)).counters();
  if (from == 0) return {.over = counters.updates.get()};
  return {.over = counters.messages.get(), .full = counters.messages_full.get()};
}

void collect_loops(Families& out, dataplane::Switch& sw) {
  collect_turns(out, sw.packet_loops());
  collect_late(out, sw.packet_loops());
  collect_stages(out, sw.packet_loops());
  collect_queues(out, sw);
  collect_handover(out, sw.packet_loops().handover());
  collect_groups(out, sw.packet_loops());
}

}  // namespace tributary::control
