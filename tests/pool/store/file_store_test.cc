// A file tree as a store.
#include "pool/store/file_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
  const auto objects = store.list();
  ASSERT_EQ(objects.size(), 2u) << "no links";
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
  const auto objects = store.list();
  EXPECT_EQ(fault(store, {"gone", 1, 0}), StoreFault::not_found);
  EXPECT_EQ(fault(store, {"b", 11, 0}), StoreFault::changed);
  EXPECT_EQ(fault(store, {"b", 10, objects[0].version + 1}), StoreFault::changed);
  EXPECT_EQ(fault(store, {"s/../b", 10, 0}), StoreFault::refused);
  EXPECT_EQ(fault(store, {"link", 10, 0}), StoreFault::denied);
  EXPECT_EQ(fault(store, {"b", 10, objects[0].version}, 11), StoreFault::incomplete);
  EXPECT_THROW(FileStore("relative"), std::invalid_argument);
  FileStore nowhere("/does/not/exist");
  EXPECT_THROW(nowhere.list(), StoreError);
}

}  // namespace
}  // namespace tributary::pool
