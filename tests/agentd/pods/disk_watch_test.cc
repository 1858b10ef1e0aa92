// What containers write is bounded (C2).
#include "tools/agentd/pods/disk_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/agentd/pods/fake_runtime.h"
#include "tests/database/scratch.h"

namespace tributary::agentd {
namespace {

constexpr DiskUse kNoLimit = {~std::uint64_t{0}, ~std::uint64_t{0}};
constexpr std::uint64_t kUsual = 1000;

Instant at(std::int64_t seconds) {
  return Instant::from_ns(seconds * 1'000'000'000);
}

TEST(UpperLayer, IsThatOfTheRootMount) {
  const std::string proc = "9 8 0:1 / /proc rw - proc proc rw\n";
  const std::string layer = " - overlay overlay rw,lowerdir=/l:/m,upperdir=/u/1,workdir=/w\n";
  EXPECT_EQ(upper_layer(proc + "7 6 0:2 / / rw,relatime shared:1" + layer), "/u/1");
  EXPECT_EQ(upper_layer(proc + "7 6 0:2 / /data rw" + layer), std::nullopt);
  EXPECT_EQ(upper_layer("7 6 8:1 / / rw - ext4 /dev/sda rw\n"), std::nullopt);
  EXPECT_EQ(upper_layer("7 6 0:2 / / ro - overlay overlay ro,lowerdir=/l\n"), std::nullopt);
  EXPECT_EQ(upper_layer("7 6 0:2 / / rw - overlay o rw,upperdir=l/1,workdir=l/2\n"), std::nullopt);
  EXPECT_EQ(upper_layer("nonsense"), std::nullopt);
  // As the kernel writes a space, a comma and a backslash; what is no such code stays.
  const std::string head = "7 6 0:2 / / rw - overlay o rw,upperdir=";
  EXPECT_EQ(upper_layer(head + R"(/my\040disk\054\134x,workdir=/w)"), R"(/my disk,\x)");
  EXPECT_EQ(upper_layer(head + R"(/a\04,workdir=/w)"), R"(/a\04)");
  EXPECT_EQ(upper_layer(head + R"(/a\777\9)"), R"(/a\777\9)");
}

struct Folder {
  Folder() { std::filesystem::create_directories(path); }
  void write(const std::string& name, std::size_t bytes) const {
    std::ofstream(path / name) << std::string(bytes, 'x');
  }
  database::Scratch scratch;
  std::filesystem::path path = scratch.file() + ".layer";
};

TEST(DiskUse, CountsWhatIsAllocatedAndFollowsNoLink) {
  const Folder folder;
  EXPECT_EQ(disk_use_below(folder.path, kNoLimit).files, 1u) << "the folder itself";
  folder.write("a", 100'000);
  std::filesystem::create_directories(folder.path / "b");
  folder.write("b/c", 50'000);
  std::filesystem::create_directory_symlink("/usr", folder.path / "link");
  const DiskUse use = disk_use_below(folder.path, kNoLimit);
  EXPECT_GE(use.bytes, 150'000u);
  EXPECT_LT(use.bytes, 300'000u);
  EXPECT_EQ(use.files, 5u);
  EXPECT_EQ(disk_use_below("/no/such/folder", kNoLimit).bytes, 0u);
}

TEST(DiskUse, EndsBeyondTheLimit) {
  const Folder folder;
  for (int i = 0; i < 20; ++i) folder.write(std::to_string(i), 0);
  EXPECT_EQ(disk_use_below(folder.path, {kNoLimit.bytes, 3}).files, 4u);
}

TEST(DiskUse, OfAProcess) {
  const Folder folder;
  folder.write("a", 100'000);
  const std::filesystem::path proc = folder.scratch.file() + ".proc";
  std::filesystem::create_directories(proc / "7");
  std::ofstream(proc / "7/mountinfo")
      << "7 6 0:2 / / rw - overlay overlay rw,upperdir=" << folder.path.string() << ",workdir=/w\n";
  EXPECT_GE(disk_use_of(7, kNoLimit, proc).value().bytes, 100'000u);
  EXPECT_FALSE(disk_use_of(8, kNoLimit, proc));
}

struct Watched {
  std::map<std::string, std::string> look(std::int64_t seconds) {
    return watch.look({1, {wanted}}, result, at(seconds));
  }
  WantedPod wanted = wanted_pod("a", "1.1");
  Reconciler::Result result = {.applied = 1,
                               .instances = {},
                               .problem = "",
                               .containers = {{"c", "1.1", "main", "running", 0, 7}}};
  DiskUse use;
  DiskWatch watch{kUsual, [this](int, const DiskUse&) { return std::optional(use); }};
};

TEST(DiskWatch, C2_APodIsEndedBeyondItsLimit) {
  Watched watched;
  watched.use = {kUsual, 10};
  EXPECT_TRUE(watched.look(0).empty());
  watched.use = {kUsual + 1, 10};
  EXPECT_TRUE(watched.look(9).empty()) << "it looks every ten seconds";
  EXPECT_EQ(watched.look(10).at("1.1"),
            "container main has written more than its ephemeral-storage, 1000");
  watched.wanted.pod.spec.containers[0].resources.limits["ephemeral-storage"] = "2Ki";
  EXPECT_TRUE(watched.look(20).empty());
  watched.use = {10, DiskWatch::kMostFiles + 1};
  EXPECT_EQ(watched.look(30).at("1.1"), "container main has written more than 1000000 files");
  watched.result.containers[0].pid = 0;
  EXPECT_TRUE(watched.look(40).empty());
}

}  // namespace
}  // namespace tributary::agentd
