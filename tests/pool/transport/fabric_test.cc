#include "pool/transport/fabric.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tributary::pool {
namespace {

// Process ids come again; the provider takes a region of its own id for one that is in use.
TEST(Fabric, L1_RegionsOfAKilledProcessAreRemovedAndNoOthers) {
  const std::filesystem::path folder = ::testing::TempDir() + "shm" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  for (const char* name : {"77:0:0", "77:0:1", "770:0:0", "7:0:0", "other"})
    std::ofstream(folder / name) << "x";
  remove_shm_regions(folder, 77);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("770:0:0", "7:0:0", "other"));
  remove_shm_regions(folder / "nowhere", 77);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tributary::pool
