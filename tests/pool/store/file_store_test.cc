// A file tree as a store.
#include "pool/store/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pool/store/make_manifest.h"

namespace tributary::pool {
namespace {

namespace fs = std::filesystem;

class PoolFileStore : public testing::Test {
 protected:
  PoolFileStore() {
    fs::create_directories(folder_ / "s");
    write("b", "0123456789");
    write("s/a", "xyz");
    fs::create_symlink("/etc/passwd", folder_ / "link");
  }
  ~PoolFileStore() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  StoreFault fault(FileStore& store, const StoreObject& object, std::size_t bytes = 1) {
    std::vector<std::byte> out(bytes);
    try {
      store.read(object, 0, out);
    } catch (const StoreError& error) {
      return error.fault();
    }
    ADD_FAILURE() << object.name << " can be read";
    return StoreFault::refused;
  }
  fs::path folder_ = fs::path(testing::TempDir()) / ("pool-file-store-" + std::to_string(getpid()));
};

TEST_F(PoolFileStore, ListsAndReads) {
  FileStore store(folder_.string() + "/");
  const auto objects = store.list({});
  ASSERT_EQ(objects.size(), 2u) << "no links out of it";
  EXPECT_EQ(objects[0].name, "b");
  EXPECT_EQ(objects[1].name, "s/a");
  std::vector<std::byte> out(3);
  store.read(objects[0], 4, out);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), 3), "456");
  store.clone()->read(objects[1], 0, out);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), 3), "xyz");
}

TEST_F(PoolFileStore, SaysWhatIsWrong) {
  FileStore store(folder_);
  const auto objects = store.list({});
  EXPECT_EQ(fault(store, {"gone", 1, 0}), StoreFault::not_found);
  EXPECT_EQ(fault(store, {"b", 11, 0}), StoreFault::changed);
  EXPECT_EQ(fault(store, {"b", 10, objects[0].version + 1}), StoreFault::changed);
  EXPECT_EQ(fault(store, {"s/../b", 10, 0}), StoreFault::refused);
  EXPECT_EQ(fault(store, {"link", 10, 0}), StoreFault::denied);
  EXPECT_EQ(fault(store, {"b", 10, objects[0].version}, 11), StoreFault::incomplete);
  EXPECT_THROW(FileStore("relative"), std::invalid_argument);
  FileStore nowhere("/does/not/exist");
  EXPECT_THROW(nowhere.list({}), StoreError);
}

TEST_F(PoolFileStore, L1LinksInsideOfTheTreeAreFollowed) {
  fs::create_symlink(folder_ / "b", folder_ / "to-b");
  fs::create_directory_symlink("s", folder_ / "to-s");
  fs::create_symlink("to-b", folder_ / "twice");
  // The tree itself may be reached by a link.
  const fs::path tree = folder_.string() + "-link";
  fs::create_directory_symlink(folder_, tree);
  FileStore store(tree);
  std::vector<std::string> names;
  for (const StoreObject& object : store.list({})) {
    names.push_back(object.name);
    std::vector<std::byte> out(object.bytes);
    EXPECT_NO_THROW(store.read(object, 0, out)) << object.name;
    EXPECT_EQ(static_cast<char>(out[0]), object.bytes == 3 ? 'x' : '0') << object.name;
  }
  fs::remove(tree);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "s/a", "to-b", "to-s/a", "twice"}));
}

TEST_F(PoolFileStore, L1WhatAListingLeavesOutIsNamedAndCounted) {
  fs::create_directory_symlink("/etc", folder_ / "out");
  fs::create_symlink("nowhere", folder_ / "broken");
  fs::create_symlink("self", folder_ / "self");
  fs::create_directory_symlink("..", folder_ / "s/up");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  FileStore store(folder_);
  EXPECT_EQ(store.list({}).size(), 2u);
  std::string all;
  for (const std::string& line : store.left_out().named()) all += line + '\n';
  EXPECT_EQ(store.left_out().count(), 6u) << all;
  for (const char* text :
       {"link: is a link out of the store's directory, to /etc/passwd",
        "out: is a link out of the store's directory, to /etc",
        "broken: is a link that leads nowhere", "self: is a link that leads nowhere",
        "s/up: is a link to a folder that it is in", "pipe: is neither a file nor a folder"})
    EXPECT_THAT(all, testing::HasSubstr(text));
}

// Each folder has two links to the next: paths double, files do not.
TEST_F(PoolFileStore, L1MorePathsThanAManifestMayHaveAreRefused) {
  for (int i = 0; i < 40; ++i) {
    const fs::path folder = folder_ / std::to_string(i);
    fs::create_directory(folder);
    for (const char* link : {"x", "y"})
      fs::create_directory_symlink("../" + std::to_string(i + 1), folder / link);
  }
  fs::create_directory(folder_ / "40");
  const auto problem = [&](const ListingLimits& limits) {
    try {
      FileStore(folder_, limits).list({});
    } catch (const StoreError& error) {
      EXPECT_EQ(error.fault(), StoreFault::refused);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(problem({100'000, 1000}), testing::HasSubstr("beyond 1000 folders"));
  EXPECT_THAT(problem({1000, 100'000}), testing::HasSubstr("beyond 1000 entries"));
}

// The object as a manifest keeps it: place, size and version.
StoreObject kept(const StoreObject& listed) {
  return {listed.place(), listed.bytes, listed.version};
}

TEST_F(PoolFileStore, L1AListingGivesTheTargetsOfLinks) {
  fs::create_symlink("to-b", folder_ / "a-link");
  fs::create_symlink(folder_ / "b", folder_ / "to-b");
  fs::create_directory_symlink("s", folder_ / "to-s");
  fs::create_directory(folder_ / "s/deep");
  write("s/deep/c", "c");
  FileStore store(folder_);
  std::vector<std::pair<std::string, std::string>> places;
  for (const StoreObject& object : store.list({})) places.emplace_back(object.name, object.place());
  EXPECT_EQ(places,
            (std::vector<std::pair<std::string, std::string>>{{"a-link", "b"},
                                                              {"b", "b"},
                                                              {"s/a", "s/a"},
                                                              {"s/deep/c", "s/deep/c"},
                                                              {"to-b", "b"},
                                                              {"to-s/a", "s/a"},
                                                              {"to-s/deep/c", "s/deep/c"}}));
  const auto bytes = make_manifest(store, {});
  const Manifest manifest(bytes);
  for (const Shard& shard : manifest.shards())
    EXPECT_EQ(shard.name.find("to-"), std::string::npos) << shard.name;
}

TEST_F(PoolFileStore, L1NoLinkIsFollowedAfterTheListing) {
  fs::create_symlink("b", folder_ / "to-b");
  fs::create_directory_symlink("s", folder_ / "to-s");
  FileStore store(folder_);
  const auto objects = store.list({});
  // One that leads out, and one that stays in the tree: of the same size and time.
  EXPECT_EQ(fault(store, {"to-b", objects[0].bytes, objects[0].version}), StoreFault::denied);
  EXPECT_EQ(fault(store, {"to-s/a", objects[1].bytes, objects[1].version}), StoreFault::denied);
  fs::remove(folder_ / "to-b");
  fs::create_symlink("/etc/passwd", folder_ / "to-b");
  std::vector<std::byte> out(1);
  EXPECT_NO_THROW(store.read(kept(objects[2]), 0, out)) << "its target is there";
  // A link takes the place of a folder that the manifest names.
  fs::rename(folder_ / "s", folder_ / "moved");
  fs::create_directory_symlink("moved", folder_ / "s");
  FileStore anew(folder_);
  EXPECT_EQ(fault(anew, kept(objects[1])), StoreFault::denied);
  fs::remove(folder_ / "b");
  fs::create_symlink("moved/a", folder_ / "b");
  EXPECT_EQ(fault(anew, kept(objects[0])), StoreFault::denied);
}

TEST_F(PoolFileStore, L1PathsGoNoFolderUp) {
  FileStore store(folder_);
  for (const char* name : {"../b", "s/../b", "s/..", "..", "./b", "s//a", "/etc/passwd", ""})
    EXPECT_EQ(fault(store, {name, 10, 1}), StoreFault::refused) << name;
  EXPECT_EQ(fault(store, {"b..", 10, 1}), StoreFault::not_found);
}

// The file changes after its bytes were read, and before they are served.
class ChangingStore : public FileStore {
 public:
  ChangingStore(const fs::path& folder, std::function<void()> change)
      : FileStore(folder), change_(std::move(change)) {}

 protected:
  void read_bytes(int file, const std::string& path, std::uint64_t offset,
                  std::span<std::byte> out) override {
    FileStore::read_bytes(file, path, offset, out);
    change_();
  }

 private:
  std::function<void()> change_;
};

TEST_F(PoolFileStore, L1FilesThatChangeInARead) {
  fs::last_write_time(folder_ / "b", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const StoreObject object = FileStore(folder_).list({})[0];
  ChangingStore same(folder_, [] {});
  std::vector<std::byte> out(4);
  EXPECT_NO_THROW(same.read(object, 0, out));
  ChangingStore other(folder_, [this] { write("b", "9876543210"); });
  EXPECT_EQ(fault(other, object), StoreFault::changed);
}

}  // namespace
}  // namespace tributary::pool
