// Suite `engine`: the whole aggregation engine without ports, beside memcpy.
//
//   packet bytes in ─▶ parse ─▶ prefetch ─▶ decide and reduce ─▶ result out
//
// The reference copies the same payloads, in the same bursts and in calls of the same size, to as
// many places as the engine has slots live: what the machine can do at all for these bytes. A
// second reference runs the summing kernels alone over as many buffers as the engine has, burst by
// burst and looking as far ahead as it does: what remains is the engine's own cost per packet. Only
// the work on a batch is timed, not the making of it, nor the check of what it left behind; inputs
// come from memory (flushed from every cache level before the batch) or from the last-level cache.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/engine_bare.h"
#include "bench/engine_round.h"

namespace tributary::bench {
namespace {

constexpr std::uint32_t kFewLiveBytes = 4 << 20;
constexpr std::uint32_t kManySlots = 65'536;
struct Sample {
  StageTimes engine;
  BareTimes copy;
  BareTimes kernels;
};

// The three sides take turns; round 0 warms up and does not count.
std::vector<Sample> sample(const Options& options, const EngineLoad& load, bool& verified) {
  EngineTraffic traffic(load);
  // The bare sides have receive buffers of their own, and no engine that would notice gaps.
  EngineTraffic bare_traffic(load);
  const std::size_t window_bytes = std::size_t{load.slots()} * load.payload;
  const Buffer slots(2 * window_bytes);
  std::vector<Sample> samples;
  for (std::size_t round = 0; round <= options.rounds(); ++round) {
    Sample s;
    const auto engine = [&] {
      s.engine = run_engine(traffic);
      verified = verified && traffic.round_was_right();
    };
    if (round % 2 == 0) engine();
    s.copy = run_copies(bare_traffic, slots.bytes().first(window_bytes), verified);
    // The engine keeps one window's results while it sums the next (T4): so many buffers take
    // turns.
    s.kernels = run_kernels(
        bare_traffic, slots.bytes().subspan(round % 2 * window_bytes, window_bytes), verified);
    if (round % 2 != 0) engine();
    if (round > 0) samples.push_back(s);
  }
  return samples;
}

std::string describe(const EngineLoad& load) {
  const std::string payload = load.payload < 1024 ? std::to_string(load.payload) + " B"
                                                  : std::to_string(load.payload >> 10) + " KiB";
  return payload + ", " + std::to_string(load.slots()) + " slots, " + std::to_string(load.jobs) +
         " jobs, fan-in " + std::to_string(load.fan_in) + (load.one_op ? "" : ", one chunk an op") +
         (load.input_from_memory ? ", from memory" : ", from LLC");
}

template <typename Value>
void spread(const std::vector<Sample>& samples, Value value, Row& row) {
  std::vector<double> values;
  for (const Sample& s : samples) values.push_back(value(s));
  row.value = median(values);
  row.min = *std::min_element(values.begin(), values.end());
  row.max = *std::max_element(values.begin(), values.end());
  row.runs = values.size();
}

// The bars are for 65,536 slots, or 4 MiB of them; other loads show that there is no cliff beside.
std::string bar(const EngineLoad& load) {
  if (load.jobs != 8 || load.fan_in != 8 || !load.one_op) return "";
  return load.payload == 1024   ? " (bar: ratio 0.7)"
         : load.payload == 8192 ? " (bar: ratio 0.8)"
                                : "";
}

// Contributions' bytes per second through the engine, and through memcpy.
void add_rate(const EngineLoad& load, const std::vector<Sample>& samples, bool verified,
              Report& report) {
  const double bytes = static_cast<double>(load.slots()) * load.fan_in * load.payload;
  Row row;
  row.suite = "engine";
  row.case_name = describe(load);
  row.metric = "contribution rate" + bar(load);
  row.unit = "GB/s";
  row.reference = "memcpy";
  row.verified = verified;
  spread(
      samples, [&](const Sample& s) { return bytes / s.engine.total; }, row);
  std::vector<double> reference;
  std::vector<double> ratios;
  for (const Sample& s : samples) {
    reference.push_back(bytes / s.copy.total);
    ratios.push_back(s.copy.total / s.engine.total);
  }
  row.reference_value = median(reference);
  row.ratio = median(ratios);
  report.add(row);
}

// Costs of a packet beyond the summing of its bytes, and stage by stage.
void add_costs(const EngineLoad& load, const std::vector<Sample>& samples, bool verified,
               Report& report) {
  const double packets = static_cast<double>(load.slots()) * load.fan_in;
  const auto add = [&](const std::string& metric, const char* unit, auto value) {
    Row row;
    row.suite = "engine";
    row.case_name = describe(load);
    row.metric = metric;
    row.unit = unit;
    row.verified = verified;
    spread(
        samples, [&](const Sample& s) { return value(s) / packets; }, row);
    report.add(row);
  };
  add(load.payload == 256 ? "cost beyond the kernels (bar: 60)" : "cost beyond the kernels",
      "ns/packet", [](const Sample& s) { return s.engine.total - s.kernels.total; });
  // The last contributions to their chunks are summed where they are decided.
  add("of that, in stage reduce", "ns/packet",
      [](const Sample& s) { return s.engine.reduce - (s.kernels.total - s.kernels.last); });
  add("kernels alone", "ns/packet", [](const Sample& s) { return s.kernels.total; });
  add("memcpy alone", "ns/packet", [](const Sample& s) { return s.copy.total; });
  const auto add_stage = [&](const char* metric, double StageTimes::*stage) {
    add(metric, "cycles/packet",
        [&](const Sample& s) { return s.engine.*stage * s.engine.cycles_per_ns; });
  };
  add_stage("stage parse", &StageTimes::parse);
  add_stage("stage prefetch", &StageTimes::prefetch);
  add_stage("stage decide", &StageTimes::decide);
  add_stage("stage reduce", &StageTimes::reduce);
}

void run_case(const Options& options, EngineLoad load, bool with_costs, Report& report) {
  for (const bool from_memory : {true, false}) {
    load.input_from_memory = from_memory;
    std::fprintf(stderr, "engine: %s\n", describe(load).c_str());
    bool verified = true;
    const std::vector<Sample> samples = sample(options, load, verified);
    add_rate(load, samples, verified, report);
    if (with_costs) add_costs(load, samples, verified, report);
  }
}

// A load whose live slots hold about `live_bytes`.
EngineLoad live_load(std::uint32_t live_bytes, std::uint32_t payload, std::uint32_t jobs,
                     std::uint32_t fan_in) {
  EngineLoad load;
  load.payload = payload;
  load.jobs = jobs;
  load.fan_in = fan_in;
  load.window = 1;
  while (load.window * 2 * jobs * payload <= live_bytes) load.window *= 2;
  while (load.window > config::kMaxWindow) {
    load.window /= 2;
    load.shards *= 2;
  }
  return load;
}

int run(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "The aggregation engine beside memcpy (suite engine).");
  Report report(options);
  run_case(options, live_load(kFewLiveBytes, 256, 8, 8), true, report);
  for (const std::uint32_t payload : {1024u, 8192u})
    run_case(options, live_load(kFewLiveBytes, payload, 8, 8), true, report);
  run_case(options, live_load(kManySlots * 1024, 1024, 8, 8), false, report);
  if (!options.quick) run_case(options, live_load(kManySlots * 8192, 8192, 8, 8), false, report);
  // No cliff: the shortest ops, fan-ins and a thousand jobs, the same live bytes.
  EngineLoad short_ops = live_load(kFewLiveBytes, 1024, 8, 8);
  short_ops.one_op = false;
  run_case(options, short_ops, false, report);
  for (const std::uint32_t fan_in : {2u, 32u, 64u, 128u})
    run_case(options, live_load(kFewLiveBytes, 1024, 8, fan_in), false, report);
  run_case(options, live_load(kFewLiveBytes, 1024, 1000, 8), false, report);
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
