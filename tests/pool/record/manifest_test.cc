// Manifests: where records are in the store, and what is refused.
#include "pool/record/manifest.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

std::vector<Shard> shards(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> sizes) {
  std::vector<Shard> out;
  for (const auto& [bytes, records] : sizes)
    out.push_back({"shard" + std::to_string(out.size()), bytes, 9, 0, records});
  return out;
}

TEST(PoolManifest, FilesAreRecords) {
  const auto bytes = write_manifest(Format::files, 0, 0, shards({{10, 1}, {0, 1}, {30, 1}}), {});
  const Manifest manifest(bytes);
  EXPECT_EQ(manifest.records(), 3u);
  EXPECT_EQ(manifest.source(2).shard, 2u);
  EXPECT_EQ(manifest.source(2).length, 30u);
  EXPECT_EQ(manifest.source(1).length, 0u);
  EXPECT_EQ(manifest.longest(), 30u);
  EXPECT_EQ(manifest.data_bytes(), 40u);
  EXPECT_EQ(manifest.shards()[1].version, 9u);
}

TEST(PoolManifest, FixedRecordsAreFoundByArithmetic) {
  const auto bytes = write_manifest(Format::fixed, 784, 16,
                                    shards({{16 + 784 * 3, 3}, {16, 0}, {16 + 784, 1}}), {});
  const Manifest manifest(bytes);
  EXPECT_EQ(manifest.records(), 4u);
  EXPECT_EQ(manifest.source(2).shard, 0u);
  EXPECT_EQ(manifest.source(2).offset, 16u + 2 * 784);
  EXPECT_EQ(manifest.source(3).shard, 2u);
  EXPECT_EQ(manifest.source(3).offset, 16u);
  EXPECT_EQ(manifest.group_shift(), 8u);
}

TEST(PoolManifest, TarRecordsHaveEntries) {
  const std::vector<ManifestEntry> entries = {{0, 1536, 0}, {1536, 1024, 0}, {0, 1024, 1}};
  const auto bytes = write_manifest(Format::tar, 0, 0, shards({{4096, 2}, {2048, 1}}), entries);
  const Manifest manifest(bytes);
  EXPECT_EQ(manifest.source(1).offset, 1536u);
  EXPECT_EQ(manifest.source(2).shard, 1u);
  EXPECT_EQ(manifest.longest(), 1536u);
}

TEST(PoolManifest, FingerprintsDiffer) {
  const auto a = write_manifest(Format::files, 0, 0, shards({{10, 1}}), {});
  const auto b = write_manifest(Format::files, 0, 0, shards({{11, 1}}), {});
  EXPECT_NE(Manifest(a).fingerprint(), Manifest(b).fingerprint());
}

TEST(PoolManifest, EveryFlippedBitAndEveryCutIsRefused) {
  const std::vector<ManifestEntry> entries = {{0, 1536, 0}};
  auto bytes = write_manifest(Format::tar, 0, 0, shards({{4096, 1}}), entries);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (bit / 8 >= 56 && bit / 8 < 64) continue;  // reserved
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_THROW(Manifest{bytes}, ManifestError) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(Manifest(std::span(bytes).first(length)), ManifestError) << length;
}

TEST(PoolManifest, RecordsOutsideOfTheirShardsAreRefused) {
  const std::vector<ManifestEntry> beyond = {{4096, 1, 0}};
  EXPECT_THROW(Manifest(write_manifest(Format::tar, 0, 0, shards({{4096, 1}}), beyond)),
               ManifestError);
  const std::vector<ManifestEntry> elsewhere = {{0, 1, 1}};
  EXPECT_THROW(Manifest(write_manifest(Format::tar, 0, 0, shards({{4096, 1}}), elsewhere)),
               ManifestError);
  EXPECT_THROW(Manifest(write_manifest(Format::fixed, 100, 0, shards({{199, 2}}), {})),
               ManifestError);
  EXPECT_THROW(Manifest(write_manifest(Format::fixed, 0, 0, shards({{199, 2}}), {})),
               ManifestError);
  EXPECT_THROW(Manifest(write_manifest(Format::files, 0, 0, shards({{199, 2}}), {})),
               ManifestError);
  EXPECT_THROW(write_manifest(Format::files, 0, 0, shards({{2ULL << 30, 1}}), {}), ManifestError);
}

}  // namespace
}  // namespace tributary::pool
