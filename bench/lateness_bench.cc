// Suite `stragglers`, the part without a network: the cost of deadlines and time-lines when no rank
// is late.
//
// One side is the engine driven as a switch drives it, which looks for passed deadlines after every
// burst; the other never looks. Arming and cancelling a chunk's deadline cannot be left out of the
// engine: it is measured alone. Sides take turns within each pair; a ratio is the median of the
// pairs' own, and min and max of a row are its quartiles, not its extremes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "aggregator/chunk/chunk_deadlines.h"
#include "bench/engine_round.h"

namespace tributary::bench {
namespace {

constexpr std::uint32_t kJobs = 8;
constexpr std::uint32_t kFanIn = 8;
constexpr std::uint32_t kLiveBytes = 4 << 20;
constexpr int kTurnsEach = 8;                  // of one side in a pair
constexpr std::size_t kTurnPackets = 1 << 15;  // or one round: milliseconds

struct Pair {
  double subject = 0;  // ns a packet
  double reference = 0;
};

EngineLoad load_of(std::uint32_t payload) {
  EngineLoad load;
  load.jobs = kJobs;
  load.fan_in = kFanIn;
  load.payload = payload;
  load.input_from_memory = false;
  load.deadline = Duration::ms(200);
  load.window = std::min(kLiveBytes / payload / kJobs, std::uint32_t{config::kMaxWindow});
  return load;
}

// In which the median of all that could be measured lies with 95 %: between these two of n values
// in order, by the signs of their differences from it.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(std::max(0.0, (n - 1.96 * std::sqrt(n)) / 2 - 0.5));
  return {values[rank], values[values.size() - 1 - rank]};
}

double quartile(std::vector<double> values, std::size_t quarter) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * quarter / 4];
}

void add_row(const std::string& name, const std::string& metric, const std::string& reference,
             const std::vector<Pair>& pairs, bool verified, Report& report) {
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (const Pair& p : pairs) {
    ours.push_back(p.subject);
    theirs.push_back(p.reference);
    ratios.push_back(p.reference / p.subject);
  }
  Row row;
  row.suite = "stragglers";
  row.case_name = name;
  row.metric = metric;
  row.unit = "ns/packet";
  row.value = median(ours);
  row.min = quartile(ours, 1);
  row.max = quartile(ours, 3);
  row.reference = reference;
  row.reference_value = median(theirs);
  row.ratio = median(ratios);
  row.runs = pairs.size();
  row.verified = verified;
  const Interval interval = median_interval(ratios);
  std::fprintf(stderr, "lateness: %s: %s: ratio %.4f, 95 %% interval %.4f to %.4f\n", name.c_str(),
               metric.c_str(), row.ratio, interval.low, interval.high);
  report.add(row);
}

double ns_per_packet(EngineTraffic& traffic, Deadlines deadlines, bool& verified) {
  double total = 0;
  std::size_t packets = 0;
  while (packets < kTurnPackets) {
    total += run_engine(traffic, deadlines).total;
    packets += traffic.packets_per_round();
    verified = verified && traffic.round_was_right();
  }
  return total / static_cast<double>(packets);
}

// Sides take turns within a pair, and in going first; pair 0 warms up and does not count.
template <typename Subject, typename Reference>
std::vector<Pair> measure_pairs(const Options& options, Subject subject, Reference reference) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i <= options.pairs(); ++i) {
    Pair p;
    for (int turn = 0; turn < kTurnsEach; ++turn) {
      if (turn % 2 == 0) p.subject += subject() / kTurnsEach;
      p.reference += reference() / kTurnsEach;
      if (turn % 2 != 0) p.subject += subject() / kTurnsEach;
    }
    if (i > 0) pairs.push_back(p);
  }
  return pairs;
}

// All chunks of a window armed, then cancelled in the order in which they complete.
double arm_and_cancel(const EngineLoad& load) {
  std::vector<aggregator::ChunkEntry> chunks(load.window);
  aggregator::ChunkDeadlines deadlines(load.deadline, chunks);
  const double begin = thread_seconds();
  for (std::uint32_t job = 0; job < load.jobs; ++job) {
    for (aggregator::ChunkEntry& chunk : chunks) deadlines.arm(chunk);
    for (aggregator::ChunkEntry& chunk : chunks) deadlines.cancel(chunk);
  }
  const double ns = (thread_seconds() - begin) * 1e9;
  return ns / (static_cast<double>(load.slots()) * load.fan_in);
}

std::string describe(const EngineLoad& load) {
  const std::string payload = load.payload < 1024 ? std::to_string(load.payload) + " B"
                                                  : std::to_string(load.payload >> 10) + " KiB";
  return "nobody late, " + payload +
         (load.one_op ? "" : ", " + std::to_string(load.window) + " ops of one chunk at once");
}

void run_deadlines(const Options& options, const EngineLoad& load, Report& report) {
  bool verified = true;
  EngineTraffic traffic(load);  // of both sides: where memory lies makes more of a difference
  const auto cost = [&](Deadlines deadlines) {
    return [&, deadlines] { return ns_per_packet(traffic, deadlines, verified); };
  };
  const auto pairs = measure_pairs(options, cost(Deadlines::each_burst), cost(Deadlines::never));
  add_row(describe(load), "cost with deadlines, bar 0.99", "deadlines never looked at", pairs,
          verified, report);
  const auto alone = measure_pairs(
      options, [&] { return arm_and_cancel(load); }, cost(Deadlines::never));
  add_row(describe(load), "arm and cancel alone, bar 50", "whole packet", alone, verified, report);
}

// Ops of one chunk each, which follow each other as closely as they can: each has a time-line, and
// of some every arrival is in it. The other side sends the same as chunks of the middle of an op,
// to the same engine.
void run_time_lines(const Options& options, const EngineLoad& load, Report& report) {
  bool verified = true;
  EngineTraffic traffic(load);
  const auto cost = [&](std::uint32_t first_chunk) {
    return [&, first_chunk] {
      traffic.number_chunks_from(first_chunk);
      return ns_per_packet(traffic, Deadlines::each_burst, verified);
    };
  };
  const auto pairs = measure_pairs(options, cost(0), cost(1));
  add_row(describe(load), "cost with time-lines, bar 0.99", "the same without", pairs, verified,
          report);
}

int run(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "What deadlines cost when nobody is late (part of suite stragglers).");
  Report report(options);
  for (const std::uint32_t payload : {256u, 1024u, 8192u}) {
    run_deadlines(options, load_of(payload), report);
  }
  EngineLoad short_ops = load_of(1024);
  short_ops.one_op = false;
  run_deadlines(options, short_ops, report);
  for (const std::uint32_t payload : {256u, 1024u}) {
    for (const std::uint32_t window : {16u, 512u}) {
      short_ops = load_of(payload);
      short_ops.one_op = false;
      short_ops.window = window;
      run_time_lines(options, short_ops, report);
    }
  }
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
