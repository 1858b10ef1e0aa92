// tributary-sim: a scenario goes in, a report comes out. Explained in docs/simulation.md.
#include <chrono>
#include <ctime>
#include <iostream>
#include <stdexcept>

#include "config/text/error.h"
#include "sim/scenario/scenario_file.h"
#include "tools/program/cpu_check.h"
#include "tools/program/output_file.h"
#include "tools/program/standard_output.h"
#include "tools/sim/options.h"
#include "tools/sim/report.h"
#include "tools/sim/units.h"

namespace tributary::simtool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// At most one line in five seconds, so that short runs say nothing.
sim::ProgressSink progress_line(Clock::time_point began, std::uint32_t ranks) {
  return [began, ranks, said = began](const sim::Progress& p) mutable {
    if (seconds_since(said) < 5) return;
    said = Clock::now();
    const auto rate =
        static_cast<std::uint64_t>(static_cast<double>(p.events) / seconds_since(began));
    std::cerr << "tributary-sim: " << time_text(p.now - Instant()) << " of virtual time, "
              << count_text(p.events) << " events, " << count_text(rate) << " a second; "
              << p.ranks_done << " of " << ranks << " ranks done, "
              << bytes_text(static_cast<double>(p.bytes_returned)) << " summed" << std::endl;
  };
}

Summary run(const sim::Scenario& scenario, const Options& options) {
  const auto began = Clock::now();
  const std::clock_t processor_began = std::clock();
  std::uint32_t ranks = 0;
  for (const sim::JobScenario& job : scenario.jobs) ranks += job.workers;
  sim::Trace::Sink log;
  if (options.log) log = [](const std::string& line) { std::cout << line << '\n'; };
  sim::Measurements measured;
  const sim::Outcome outcome = sim::measure(
      scenario, measured, options.quiet ? sim::ProgressSink{} : progress_line(began, ranks), log);
  const RunTime run_time{seconds_since(began), static_cast<double>(std::clock() - processor_began) /
                                                   static_cast<double>(CLOCKS_PER_SEC)};
  return summarize(scenario, outcome, std::move(measured), run_time);
}

void write_file(const std::string& path, const std::string& text) {
  if (!path.empty()) tools::write_file(path, text);
}

// Nothing is left to the reader of the report: a script looks at the exit status only.
int status_of(const Summary& summary) {
  if (summary.failure) return kExitViolation;
  if (summary.sessions_failed == 0) return 0;
  std::cerr << "tributary-sim: " << summary.sessions_failed
            << " sessions of ranks failed, as some must where a fault takes a rank or a switch away"
            << std::endl;
  return kExitViolation;
}

int run_one(const sim::Scenario& scenario, const Options& options) {
  const Summary summary = run(scenario, options);
  std::cout << text_report(summary);
  tools::check_output();
  write_file(options.json, json_report(summary).dump(1) + "\n");
  return status_of(summary);
}

// As many levels as the workers need; a scenario without a fat tree stays one switch.
void fit_levels(sim::Scenario& scenario) {
  if (scenario.fat_tree.levels == 0) return;
  std::uint32_t workers = 0;
  for (const sim::JobScenario& job : scenario.jobs) workers += job.workers;
  scenario.fat_tree.levels = 1;
  while (sim::capacity_of(scenario.fat_tree) < workers) ++scenario.fat_tree.levels;
}

int run_scaling(sim::Scenario scenario, const Options& options) {
  std::vector<Summary> runs;
  Json json = Json::array();
  bool well = true;
  for (const std::uint32_t workers : options.scaling) {
    scenario.jobs.front().workers = workers;
    fit_levels(scenario);
    if (!options.quiet) std::cerr << "tributary-sim: " << workers << " workers" << std::endl;
    runs.push_back(run(scenario, options));
    json.push_back(json_report(runs.back()));
    if (runs.back().failure)
      std::cerr << "tributary-sim: " << workers << " workers: " << *runs.back().failure
                << std::endl;
    well = status_of(runs.back()) == 0 && well;
  }
  std::cout << scaling_table(runs);
  tools::check_output();
  write_file(options.json, json.dump(1) + "\n");
  return well ? 0 : kExitViolation;
}

}  // namespace
}  // namespace tributary::simtool

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  using namespace tributary::simtool;
  Options options;
  if (const auto status = parse_options(argc, argv, options)) return *status;
  try {
    tributary::sim::Scenario scenario = tributary::sim::load_scenario(options.scenario);
    if (options.check) {
      std::cout << options.scenario << ": good\n";
      return tributary::tools::finish_output("tributary-sim", 0);
    }
    if (options.seed) scenario.seed = *options.seed;
    return tributary::tools::finish_output("tributary-sim", options.scaling.empty()
                                                                ? run_one(scenario, options)
                                                                : run_scaling(scenario, options));
  } catch (const tributary::config::ConfigErrors& e) {
    std::cerr << e.what() << '\n';
    return kExitUsage;
  } catch (const std::exception& e) {
    std::cerr << "tributary-sim: " << e.what() << '\n';
    return kExitViolation;
  }
}
