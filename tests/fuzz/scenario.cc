// Scenario files of the simulation: refused with every mistake placed, or read, written and read
// to the same scenario.
#include "sim/scenario/scenario_file.h"
#include "tests/fuzz/yaml_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  fuzz::check_yaml(fuzz::as_text(data, size), sim::parse_scenario, sim::to_yaml);
  return 0;
}
