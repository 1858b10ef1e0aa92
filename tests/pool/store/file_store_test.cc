// A file tree as a store.
#include "pool/store/file_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

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
