// The contents of a data set: shards in a store, and the place of each record in them.
//
//   head, 64 bytes | shards, one after the other | entries, 16 bytes a record (tar alone)
//
// Ids are dense and in the order of the shards. Files: each shard is a record. Fixed: records of
// one size behind a header of fixed size. Tar: an entry holds a record's offset and length. A
// shard's size and version are those of the store when the manifest was made; a store with other
// ones is refused. The fingerprint identifies the whole; nodes and loaders compare it.
//
// Pure: a view of bytes that must outlive it, usually a mapped file.
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
  std::uint64_t version = 0;  // the store's: changes with the object; never 0
  std::uint64_t first = 0;    // its first id
  std::uint64_t records = 0;
};

struct ManifestHead {
  Format format = Format::files;
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;  // fixed: of each
  std::uint64_t header_bytes = 0;  // fixed: before the first
};

// The place of a record in the store.
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

// The bytes of a manifest. Throws ManifestError if a limit is exceeded.
std::vector<std::byte> write_manifest(Format format, std::uint64_t record_bytes,
                                      std::uint64_t header_bytes, std::vector<Shard> shards,
                                      std::span<const ManifestEntry> entries);

class Manifest {
 public:
  // Throws ManifestError if the bytes are not a manifest, damaged, or inconsistent.
  explicit Manifest(std::span<const std::byte> bytes);

  [[nodiscard]] const ManifestHead& head() const { return head_; }
  [[nodiscard]] std::uint64_t records() const { return head_.records; }
  [[nodiscard]] const std::vector<Shard>& shards() const { return shards_; }
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
  [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] std::uint32_t group_shift() const { return group_shift_; }

  // `id` must be below records().
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
