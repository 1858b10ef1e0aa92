#include "tools/sim/options.h"

#include "tools/cli/app.h"

namespace tributary::simtool {
namespace {

constexpr const char* kFooter = R"(
The scenario is a YAML file: topology, jobs, links, what the switch's work costs, faults. Examples
stand in tests/sim/scenarios/ and tools/sim/scenarios/; docs/configuration/scenarios.md explains
every key, docs/simulation.md what the report says, and what the simulation leaves out. The same
file and seed give the same run on any machine.

  tributary-sim tools/sim/scenarios/small.yaml --json small.json
  tributary-sim tools/sim/scenarios/scale.yaml --scaling 16,256,4096 --json scale.json
  tributary-sim tools/sim/scenarios/fat-tree.yaml --scaling 16,256,4096,65535

Exit status: 0 all went well; 1 a promise was broken, there was no progress, a rank's session failed
or a report could not be written; 2 a bad command line or scenario.)";

}  // namespace

std::optional<int> parse_options(int argc, const char* const* argv, Options& options) {
  cli::App app(
      "Runs the switch's and the workers' real engines on a simulated network, and reports how "
      "long "
      "ops take, what links carry and how busy the switch is.",
      "tributary-sim");
  app.set_version_flag("--version", "tributary-sim " TRIBUTARY_VERSION);
  app.add_option("SCENARIO", options.scenario, "Scenario file")->required();
  app.add_option("--seed", options.seed, "Instead of the scenario's own");
  app.add_option(
         "--scaling", options.scaling,
         "Run the scenario once for each of these numbers of workers of its first job, a fat "
         "tree of its radix with as many levels as they need; report one table")
      ->delimiter(',')
      ->check(cli::range(1u, 65'535u))
      ->type_name("N,N,...");
  app.add_option("--json", options.json, "Write the report as JSON")->type_name("FILE");
  app.add_flag("--check", options.check, "Check the scenario, print every mistake, exit");
  app.add_flag("--log", options.log, "Print every event, with its virtual time");
  app.add_flag("--quiet", options.quiet, "No progress on stderr");
  app.footer(kFooter);
  return app.run(argc, argv);
}

}  // namespace tributary::simtool
