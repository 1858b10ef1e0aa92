// Runs a fuzz target over files, without a fuzzer: what ctest does with the corpus, under any
// compiler.
//
//   fuzz_NAME FILE_OR_FOLDER...
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

using Path = std::filesystem::path;

// Sorted, so that the first failure is the same everywhere.
std::vector<Path> files_of(const std::vector<Path>& arguments) {
  std::vector<Path> files;
  for (const Path& path : arguments) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// False when the file cannot be read.
bool replay(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  // Announced before it runs: a crash leaves the name of its cause.
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // No spare capacity: a sanitizer sees what reads past the end.
  bytes.shrink_to_fit();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<Path> files = files_of({argv + 1, argv + argc});
    for (const Path& path : files) {
      if (replay(path)) continue;
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 1;
    }
    std::printf("%zu inputs\n", files.size());
    return files.empty() ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
