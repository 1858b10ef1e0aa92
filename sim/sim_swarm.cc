// sim_swarm: runs scenarios drawn from seeds, or one from a file, and judges them.
//
//   sim_swarm --seeds 1..14000 --least-reach 100     what CI runs
//   sim_swarm --minutes 60                          a long hunt, from a random-looking first seed
//   sim_swarm --seed 42 --verbose                   one world, every event
//   sim_swarm --library --seeds 1..2500             ranks on the whole library, whose switches die
//   sim_swarm --scenario FILE --verbose             one that was kept
//
// A failure is shrunk, printed as a scenario with its event log, and ends the run. Exit status: 0
// all well, 1 a violation or too little reach, 2 bad arguments or a bad scenario file.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "config/text/error.h"
#include "sim/run/library_run.h"
#include "sim/run/shrink.h"
#include "sim/run/simulation.h"
#include "sim/scenario/library_worlds.h"
#include "sim/scenario/scenario_file.h"
#include "sim/scenario/swarm.h"

namespace tributary::sim {
namespace {

constexpr std::size_t kLogLines = 60;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 1000;
  double minutes = 0;
  std::string scenario;
  std::string keep = ".";
  std::uint64_t least_reach = 0;
  bool verbose = false;
  bool quiet = false;
  bool shrink = true;
  bool library = false;
};

struct Totals {
  std::uint64_t scenarios = 0;
  std::uint64_t events = 0;
  std::uint64_t packets = 0;
  std::uint64_t ops = 0;
  std::uint64_t sessions_failed = 0;
  std::uint64_t ranks = 0;
  std::uint64_t ranks_done = 0;
  Reach reach;

  void add(const Outcome& o) {
    ++scenarios;
    events += o.events;
    packets += o.packets;
    ops += o.ops_done;
    sessions_failed += o.sessions_failed;
    ranks += o.ranks;
    ranks_done += o.ranks_done;
    reach.add(o.reach);
  }
};

Trace::Sink to_stdout(bool wanted) {
  if (!wanted) return {};
  return [](const std::string& line) { std::cout << line << '\n'; };
}

// The last events before the violation.
void print_log(const Scenario& scenario) {
  std::vector<std::string> lines;
  simulate(scenario, [&](const std::string& line) { lines.push_back(line); });
  const std::size_t from = lines.size() > kLogLines ? lines.size() - kLogLines : 0;
  std::cout << "event log" << (from > 0 ? " (its end):\n" : ":\n");
  for (std::size_t i = from; i < lines.size(); ++i) std::cout << lines[i] << '\n';
}

void report_failure(const Scenario& scenario, const std::string& failure, const Options& options) {
  std::cout << "FAILED " << scenario.name << " (seed " << scenario.seed << "): " << failure << '\n';
  if (!options.shrink) return;
  const Shrunk small = shrink(scenario);
  const std::string path = options.keep + "/sim-" + small.scenario.name + ".yaml";
  std::ofstream(path) << to_yaml(small.scenario);
  std::cout << "shrunk in " << small.runs << " runs to\n"
            << to_yaml(small.scenario) << "which fails with: " << small.failure << '\n';
  print_log(small.scenario);
  std::cout << "replay:   sim_swarm --scenario " << path << " --verbose\n"
            << "debugger: gdb -ex 'break tributary::sim::World::fail' -ex run --args sim_swarm "
               "--scenario "
            << path << " --no-shrink" << std::endl;
}

// False when it failed.
bool run_one(const Scenario& scenario, const Options& options, Totals& totals) {
  const Outcome outcome = simulate(scenario, to_stdout(options.verbose));
  totals.add(outcome);
  if (options.verbose)
    std::printf("trace hash %016llx, %llu events, %.3f s of virtual time\n",
                static_cast<unsigned long long>(outcome.trace_hash),
                static_cast<unsigned long long>(outcome.events),
                static_cast<double>(outcome.ended_at.to_ns()) * 1e-9);
  if (!outcome.failure) return true;
  report_failure(scenario, *outcome.failure, options);
  return false;
}

// Resident memory of this process, in MiB; 0 where the kernel does not say.
double resident_mib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

// Says once a minute how far a long hunt is, and how much memory it holds: that must not grow.
class Minutes {
 public:
  void after_run(const Totals& t, double seconds) {
    if (seconds < 60 * (said_ + 1)) return;
    ++said_;
    const double mib = resident_mib();
    if (said_ == 1) first_mib_ = mib;
    std::fprintf(stderr, "%.0f min: %llu scenarios, %llu events, %.0f MiB resident\n", said_,
                 static_cast<unsigned long long>(t.scenarios),
                 static_cast<unsigned long long>(t.events), mib);
  }
  void print_memory() const {
    if (said_ > 0)
      std::printf("%.0f MiB resident after the first minute, %.0f MiB at the end\n", first_mib_,
                  resident_mib());
  }

 private:
  double said_ = 0;
  double first_mib_ = 0;
};

void print_faults(const Reach& reach) {
  std::printf("%llu faults:", static_cast<unsigned long long>(reach.fault_total()));
  for (std::size_t f = 0; f < kFaultKindCount; ++f) {
    const auto kind = static_cast<FaultKind>(f);
    std::printf("%s %llu %s", f == 0 ? "" : ",",
                static_cast<unsigned long long>(reach.fault_total(kind)), name_of(kind));
  }
  std::printf("\n");
}

void print_totals(const Totals& t, double seconds, bool table) {
  if (table) std::cout << t.reach.table() << std::flush;
  print_faults(t.reach);
  std::printf(
      "%llu scenarios, %llu events, %llu packets, %llu ops done, %llu epochs failed on a rank,\n"
      "%llu of %llu ranks got all their ops; %.1f s, %.0f scenarios/s, %.0f events/s\n",
      static_cast<unsigned long long>(t.scenarios), static_cast<unsigned long long>(t.events),
      static_cast<unsigned long long>(t.packets), static_cast<unsigned long long>(t.ops),
      static_cast<unsigned long long>(t.sessions_failed),
      static_cast<unsigned long long>(t.ranks_done), static_cast<unsigned long long>(t.ranks),
      seconds, static_cast<double>(t.scenarios) / seconds, static_cast<double>(t.events) / seconds);
}

int run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  Totals totals;
  Minutes minutes;
  bool well = true;
  if (!options.scenario.empty()) {
    well = run_one(load_scenario(options.scenario), options, totals);
  } else {
    const bool timed = options.minutes > 0;
    for (std::uint64_t seed = options.first;
         well && (timed ? seconds() < options.minutes * 60 : seed <= options.last); ++seed) {
      well = run_one(draw_scenario(seed), options, totals);
      if (timed) minutes.after_run(totals, seconds());
    }
  }
  print_totals(totals, seconds(), !options.quiet);
  minutes.print_memory();
  if (!well) return 1;
  const std::string shortfall =
      options.least_reach > 0 ? totals.reach.shortfall(options.least_reach) : "";
  if (!shortfall.empty()) std::cout << "too little reach:\n" << shortfall;
  return shortfall.empty() ? 0 : 1;
}

// Exit status 1 also where no op had to be done again: then nothing was tried.
int run_libraries(const Options& options) {
  LibraryOutcome all;
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    const LibraryOutcome outcome =
        run_library(draw_library_world(seed), to_stdout(options.verbose));
    all.events += outcome.events;
    all.ops += outcome.ops;
    all.updates += outcome.updates;
    all.retries += outcome.retries;
    all.moves += outcome.moves;
    if (!outcome.failure) continue;
    std::cout << "FAILED library world of seed " << seed << ": " << *outcome.failure << std::endl;
    return 1;
  }
  std::cout << "seeds " << options.first << " to " << options.last << ", " << all.events
            << " events, " << all.ops << " ops ended, " << all.updates
            << " of them updates of models, " << all.retries
            << " times ops of a lost epoch were done again, " << all.moves
            << " moves of switches\n";
  return all.retries > 0 ? 0 : 1;
}

// "7" or "1..2000".
bool parse_range(const std::string& text, Options& options) {
  const auto dots = text.find("..");
  const std::string first = text.substr(0, dots);
  const std::string last = dots == std::string::npos ? first : text.substr(dots + 2);
  return CLI::detail::lexical_cast(first, options.first) &&
         CLI::detail::lexical_cast(last, options.last) && options.first <= options.last;
}

}  // namespace
}  // namespace tributary::sim

int main(int argc, char** argv) {
  using namespace tributary::sim;
  Options options;
  std::string seeds = "1..1000";
  CLI::App app("Runs simulated worlds and checks that no promise is broken in them");
  auto* range = app.add_option("--seeds,--seed", seeds, "A seed, or FIRST..LAST")
                    ->check([&](const std::string& text) -> std::string {
                      return parse_range(text, options) ? "" : "give a number or FIRST..LAST";
                    });
  app.add_option("--scenario", options.scenario, "A scenario file instead of seeds")
      ->excludes(range);
  app.add_option("--minutes", options.minutes, "Go on from the first seed for this long")
      ->check(CLI::PositiveNumber);
  app.add_option("--keep", options.keep, "Folder for scenarios that failed")
      ->check(CLI::ExistingDirectory);
  app.add_option("--least-reach", options.least_reach,
                 "Fail if anything reachable happened fewer times");
  app.add_flag("--library", options.library,
               "Ranks on the whole library: ops survive switches that die");
  app.add_flag("--verbose", options.verbose, "Print every event");
  app.add_flag("--quiet", options.quiet, "No table of reach");
  app.add_flag("!--no-shrink", options.shrink, "Report failures as they are");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return options.library ? run_libraries(options) : run(options);
  } catch (const tributary::config::ConfigErrors& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
}
