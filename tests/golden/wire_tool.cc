// Lets other programs ask the C++ wire code, a line in, a line out:
//
//   wire_tool parse    hex frames → JSON descriptions
//   wire_tool build    JSON descriptions → hex frames
//   wire_tool layout   (no input) → one JSON object: offsets, sizes, numbers
#include <exception>
#include <iostream>
#include <string>

#include "tests/golden/wire_json.h"

namespace {

int run(const std::string& mode) {
  using namespace tributary::golden;
  if (mode == "layout") {
    std::cout << describe_layout().dump() << '\n';
    return 0;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    if (mode == "parse") {
      std::cout << describe_frame(from_hex(line)).dump() << '\n';
    } else {
      std::cout << to_hex(build_frame(nlohmann::json::parse(line))) << '\n';
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  if (mode != "parse" && mode != "build" && mode != "layout") {
    std::cerr << "usage: wire_tool parse|build|layout\n";
    return 2;
  }
  try {
    return run(mode);
  } catch (const std::exception& e) {
    std::cerr << "wire_tool: " << e.what() << '\n';
    return 1;
  }
}
