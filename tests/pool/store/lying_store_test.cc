// Stores that lie, 1,000 fills: every record is right, or named in an error (L1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "pool/store/file_store.h"
#include "pool/store/prefetcher.h"
#include "pool/store/s3_store.h"
#include "pool/store/webhdfs_store.h"
#include "tests/pool/store/lying_server.h"

namespace tributary::pool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kShards = 4;
constexpr std::uint64_t kRecords = 40;
constexpr std::uint64_t kEach = kRecords / kShards;
constexpr std::size_t kBytes = 300;
const StoreTimeouts kShort{Duration::seconds(20), Duration::seconds(20)};
const BackoffLimits kBackoff{Duration::us(1), Duration::us(1), 1};

std::string record(std::uint64_t id) {
  Prng prng(id + 1);
  std::string out(kBytes, '\0');
  for (char& c : out) c = static_cast<char>(prng.next());
  return out;
}

LyingServer::Objects objects() {
  LyingServer::Objects out;
  for (std::uint64_t id = 0; id < kRecords; ++id)
    out["s" + std::to_string(id / kEach)] += record(id);
  return out;
}

std::vector<std::byte> manifest_of(
    const std::function<std::uint64_t(const std::string&)>& version) {
  std::vector<Shard> shards;
  for (const auto& [name, data] : objects())
    shards.push_back({name, data.size(), version(name), 0, kEach});
  return write_manifest(Format::fixed, kBytes, 0, std::move(shards), {});
}

struct Outcome {
  std::uint64_t right = 0;
  std::uint64_t named = 0;
  std::uint64_t wrong = 0;
  std::uint64_t unnamed = 0;
  Outcome& operator+=(const Outcome& other) {
    right += other.right, named += other.named;
    wrong += other.wrong, unnamed += other.unnamed;
    return *this;
  }
};

bool is_right(std::uint64_t id, std::span<const std::byte> data) {
  const std::string expected = record(id);
  const auto bytes = std::as_bytes(std::span(expected));
  return std::equal(data.begin(), data.end(), bytes.begin(), bytes.end());
}

// Fills a node as a daemon does, with some of the records; then reads each that is missing alone,
// as a loader does. `address` is in every error.
Outcome fill(const Store& store, const Manifest& manifest, std::uint64_t seed,
             const std::string& address) {
  Prng prng(seed);
  const std::uint64_t first = prng.below(3);
  Outcome out;
  std::set<std::uint64_t> got;
  std::set<std::uint64_t> wanted;
  Prefetcher prefetcher(store, manifest, {1, kBackoff, OnDamaged::skip});
  prefetcher.run(0, kRecords,
                 {[&](std::uint64_t id) {
                    if (id % kEach < first) return false;
                    wanted.insert(id);
                    return true;
                  },
                  [&](std::uint64_t id, std::span<const std::byte> data) {
                    got.insert(id);
                    ++(is_right(id, data) ? out.right : out.wrong);
                    return Prefetcher::Taken::stored;
                  }});
  for (const std::string& error : prefetcher.progress().errors) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    char shard[3] = {};
    EXPECT_EQ(std::sscanf(error.c_str(), "%2s, records %llu to %llu", shard, &from, &to), 3)
        << error;
    EXPECT_THAT(error, testing::HasSubstr(address));
    for (std::uint64_t id = from; id <= to; ++id) out.named += wanted.erase(id);
  }
  for (const std::uint64_t id : got) wanted.erase(id);
  out.unnamed += wanted.size();

  StopFlag stop;
  ReaderCounters counters;
  RecordReader reader(store.clone(), manifest, kBackoff, stop, counters, seed);
  std::vector<std::byte> data(kBytes);
  for (std::uint64_t id = 0; id < kRecords; ++id) {
    if (got.contains(id)) continue;
    try {
      reader.read_record(id, data);
      ++(is_right(id, data) ? out.right : out.wrong);
    } catch (const StoreError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(address));
      ++out.named;
    }
  }
  return out;
}

void expect_true(const Outcome& all) {
  EXPECT_EQ(all.wrong, 0u);
  EXPECT_EQ(all.unnamed, 0u);
  EXPECT_GT(all.right, 1000u) << "lies are few enough";
  EXPECT_GT(all.named, 1000u) << "and many enough";
}

// Of each store over HTTP; half as many of files.
std::uint64_t fills() {
  const char* const wanted = std::getenv("TRIBUTARY_FILLS");
  return wanted == nullptr ? 400 : std::stoull(wanted);
}

TEST(PoolLyingStoreTimed, L1S3) {
  LyingServer server(objects());
  const auto bytes = manifest_of([](const std::string&) { return version_of("old"); });
  const Manifest manifest(bytes);
  S3Options options;
  options.endpoint = server.url();
  options.bucket = "b";
  const S3Store store(options, kShort);
  Outcome all;
  for (std::uint64_t seed = 1; seed <= fills(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    server.restart(seed, seed % 4 * 15);
    const Outcome one = fill(store, manifest, seed, server.url() + "/b/s");
    EXPECT_EQ(one.wrong + one.unnamed, 0u);
    if (seed % 4 == 0) {
      EXPECT_EQ(one.right, kRecords) << "no lies";
    }
    all += one;
  }
  expect_true(all);
  EXPECT_GT(server.lies(), 1000u);
}

TEST(PoolLyingStoreTimed, L1WebHdfs) {
  LyingServer server(objects());
  const auto bytes = manifest_of([](const std::string&) { return LyingServer::kTime; });
  const Manifest manifest(bytes);
  const WebHdfsStore store({server.authority(), "", ""}, kShort);
  Outcome all;
  for (std::uint64_t seed = 1; seed <= fills(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    server.restart(seed, seed % 4 * 10);
    const Outcome one = fill(store, manifest, seed, server.url() + "/webhdfs/v1/s");
    EXPECT_EQ(one.wrong + one.unnamed, 0u);
    if (seed % 4 == 0) {
      EXPECT_EQ(one.right, kRecords) << "no lies";
    }
    all += one;
  }
  expect_true(all);
  EXPECT_GT(server.lies(), 1000u);
}

// Files on disk; some are written again before, or some after their bytes were read.
class RewrittenFiles : public FileStore {
 public:
  struct Shared {
    fs::path folder;
    Prng prng{0};
  };
  explicit RewrittenFiles(std::shared_ptr<Shared> shared)
      : FileStore(shared->folder), shared_(std::move(shared)) {}
  [[nodiscard]] std::unique_ptr<Store> clone() const override {
    return std::make_unique<RewrittenFiles>(shared_);
  }

 protected:
  void read_bytes(int file, const std::string& path, std::uint64_t offset,
                  std::span<std::byte> out) override {
    const std::uint32_t when = shared_->prng.below(20);
    if (when == 0) rewrite(path);
    FileStore::read_bytes(file, path, offset, out);
    if (when == 1) rewrite(path);
  }

 private:
  static void rewrite(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(kEach * kBytes, 'x');
  }
  std::shared_ptr<Shared> shared_;
};

TEST(PoolLyingStoreTimed, L1Files) {
  const auto shared = std::make_shared<RewrittenFiles::Shared>();
  shared->folder = fs::path(testing::TempDir()) / ("lying-files-" + std::to_string(getpid()));
  fs::create_directories(shared->folder);
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  Outcome all;
  for (std::uint64_t seed = 1; seed <= fills() / 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const auto& [name, data] : objects()) {
      std::ofstream(shared->folder / name, std::ios::binary) << data;
      fs::last_write_time(shared->folder / name, hour_ago);
    }
    std::map<std::string, std::uint64_t> versions;
    RewrittenFiles store(shared);
    for (const StoreObject& object : store.list({})) versions[object.name] = object.version;
    const auto bytes = manifest_of([&](const std::string& name) { return versions.at(name); });
    const Manifest manifest(bytes);
    shared->prng = Prng(seed);
    const Outcome one = fill(store, manifest, seed, shared->folder.string() + "/s");
    EXPECT_EQ(one.wrong + one.unnamed, 0u);
    all += one;
  }
  fs::remove_all(shared->folder);
  EXPECT_EQ(all.wrong, 0u);
  EXPECT_GT(all.right, 1000u);
  EXPECT_GT(all.named, 100u);
}

}  // namespace
}  // namespace tributary::pool
