// What a data set consists of: shards in a store, and where each record is in them.
//
//   head, 64 bytes | shards, one after the other | entries, 16 bytes a record (tar alone)
//
// Ids are dense and in the order of the shards. Files: each shard is a record. Fixed: records of
// one size behind a header of fixed size. Tar: an entry says where a record begins and how long it
// is. A shard's size and version are those that the store gave when the manifest was made; a store
// that has others since is refused. The fingerprint names the whole; nodes and loaders compare it.
//
// Pure: a view of bytes that outlive it, usually a file that is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pool {

enum class Format : std::uint32_t { files = 0, fixed = 1, tar = 2 };

struct Shard {
  std::string name;  // below the store's address
  std::uint64_t bytes = 0;
  std::uint64_t version = 0;  // of the store: changes when the object does; 0: it has none
  std::uint64_t first = 0;    // its first id
  std::uint64_t records = 0;
};

struct ManifestHead {
  Format format = Format::files;
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;  // fixed: of each
  std::uint64_t header_bytes = 0;  // fixed: before the first
};

// Where a record is in the store.
struct Source {
  std::uint32_t shard = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

class ManifestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ManifestEntry {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t shard = 0;
};
static_assert(sizeof(ManifestEntry) == 16);

// A manifest's bytes. Throws ManifestError where a limit is exceeded.
std::vector<std::byte> write_manifest(Format format, std::uint64_t record_bytes,
                                      std::uint64_t header_bytes, std::vector<Shard> shards,
                                      std::span<const ManifestEntry> entries);

class Manifest {
 public:
  // Throws ManifestError: not a manifest, damaged, or inconsistent.
  explicit Manifest(std::span<const std::byte> bytes);

  [[nodiscard]] const ManifestHead& head() const { return head_; }
  [[nodiscard]] std::uint64_t records() const { return head_.records; }
  [[nodiscard]] const std::vector<Shard>& shards() const { return shards_; }
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
  [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] std::uint32_t group_shift() const { return group_shift_; }

  // `id` below records().
  [[nodiscard]] Source source(std::uint64_t id) const;

 private:
  void read_shards(std::span<const std::byte> bytes);
  void check_entries();

  ManifestHead head_;
  std::vector<Shard> shards_;
  std::span<const std::byte> entries_;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint32_t longest_ = 0;
  std::uint32_t group_shift_ = 0;
};

}  // namespace tributary::pool
