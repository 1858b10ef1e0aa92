// A pool whose node is not there: its records come from the store, which is a folder of the test's.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pool/loader/manifest_file.h"
#include "pool/loader/pool_config.h"

namespace tributary::pool {

class StoredPool {
 public:
  static constexpr std::uint64_t kRecords = 40;

  explicit StoredPool(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_ / "data");
    for (std::uint64_t id = 0; id < kRecords; ++id)
      std::ofstream(file(id), std::ios::binary) << text(id);
    std::ofstream(config())
        << "pool:\n  name: stored\n  nodes: [{name: a, address: \"127.0.0.1:1\", "
           "memory: /dev/shm/none, megabytes: 1}]\n  dataset: {store: \"file://"
        << (folder_ / "data").string() << "\", manifest: " << (folder_ / "manifest").string()
        << "}\n  prefetch: {retries: 0}\n";
    const PoolConfig read = load_pool_config(config());
    write_manifest_file(read.dataset.manifest,
                        make_manifest(*open_store(read.dataset.store), read.dataset.layout));
  }
  ~StoredPool() { std::filesystem::remove_all(folder_); }
  StoredPool(const StoredPool&) = delete;
  StoredPool& operator=(const StoredPool&) = delete;

  [[nodiscard]] std::string config() const { return (folder_ / "pool.yaml").string(); }
  [[nodiscard]] std::filesystem::path file(std::uint64_t id) const {
    return folder_ / "data" / std::to_string(1000 + id);
  }
  static std::string text(std::uint64_t id) {
    return std::string(id + 1, static_cast<char>('a' + id % 26));
  }

 private:
  const std::filesystem::path folder_;
};

}  // namespace tributary::pool
