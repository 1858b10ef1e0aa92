// From a store's objects to records: files, tar shards, fixed sizes, IDX.
#include "pool/store/make_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/pool/store/fake_store.h"

namespace tributary::pool {
namespace {

std::string tar_member(const std::string& name, const std::string& data) {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(257, 8, std::string("ustar\00000", 8));
  std::snprintf(block.data() + 124, 12, "%011zo", data.size());
  block[156] = '0';
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block.data() + 148, 8, "%06o", sum);
  std::string body = data;
  body.resize((data.size() + 511) / 512 * 512);
  return block + body;
}

std::vector<std::byte> manifest_of(std::map<std::string, std::string> objects,
                                   const ManifestOptions& options) {
  auto shared = std::make_shared<FakeStore::Shared>();
  shared->objects = std::move(objects);
  FakeStore store(shared);
  return make_manifest(store, options);
}

std::string problem_of(std::map<std::string, std::string> objects, const ManifestOptions& options) {
  try {
    manifest_of(std::move(objects), options);
  } catch (const ManifestError& error) {
    return error.what();
  }
  return "";
}

const std::string kEnd(1024, '\0');

TEST(PoolMakeManifest, TarSamplesAreRecords) {
  const std::string big(300'000, 'j');
  const std::string one = tar_member("0.jpg", big) + tar_member("0.cls", "1") +
                          tar_member("1.jpg", "j") + tar_member("1.cls", "2") + kEnd;
  const std::string two = tar_member("2.jpg", "k") + kEnd;
  const auto bytes = manifest_of({{"b.tar", two}, {"a.tar", one}, {"readme", "x"}},
                                 {DataFormat::tar, 0, 0, "*.tar"});
  const Manifest manifest(bytes);
  ASSERT_EQ(manifest.records(), 3u);
  EXPECT_EQ(manifest.shards()[0].records, 2u);
  const std::uint64_t first = 512 + (300'000 + 511) / 512 * 512 + 1024;
  EXPECT_EQ(manifest.source(0).length, first);
  EXPECT_EQ(manifest.source(1).offset, first);
  EXPECT_EQ(manifest.source(1).length, 2048u);
  EXPECT_EQ(manifest.source(2).shard, 1u);
}

TEST(PoolMakeManifest, WhatWebDatasetSkipsEndsNoSample) {
  const std::string shard = tar_member("__info__", "{}") + tar_member("._0001.jpg", "resource") +
                            tar_member("0001.JPG", "j") + tar_member("README", "read me") +
                            tar_member("._0001.cls", "resource") + tar_member("0001.cls", "1") +
                            tar_member("LICENSE", "x") + tar_member("0002.jpg", "k") + kEnd;
  const auto bytes = manifest_of({{"a.tar", shard}}, {DataFormat::tar, 0, 0, "*"});
  const Manifest manifest(bytes);
  ASSERT_EQ(manifest.records(), 2u);
  EXPECT_EQ(manifest.source(0).offset, 2048u);
  EXPECT_EQ(manifest.source(0).length, 4096u);
  EXPECT_EQ(manifest.source(1).length, 1024u);
}

TEST(PoolMakeManifest, ASuffixThatComesTwiceIsNamed) {
  const std::string twice =
      tar_member("0.jpg", "j") + tar_member("x", "") + tar_member("0.JPG", "k") + kEnd;
  EXPECT_THAT(problem_of({{"a.tar", twice}}, {DataFormat::tar, 0, 0, "*"}),
              testing::HasSubstr("a.tar: member 0.JPG: sample 0 has a 'jpg' already"));
}

TEST(PoolMakeManifest, L1ReadsOfHeadersAreTriedAgain) {
  const std::string idx = std::string("\0\0\x08\x01\0\0\0\x02", 8) + "ab";
  for (const auto& [format, data] : {std::pair(DataFormat::tar, tar_member("0.jpg", "j") + kEnd),
                                     std::pair(DataFormat::idx, idx)}) {
    auto shared = std::make_shared<FakeStore::Shared>();
    shared->objects = {{"a", data}};
    shared->before = [](const std::string&, int read) {
      if (read % 2 == 1) throw StoreError(StoreFault::unavailable, "HTTP 503");
    };
    FakeStore store(shared);
    const ManifestOptions options{format, 0, 0, "*"};
    EXPECT_THROW(make_manifest(store, options), StoreError);
    shared->reads = 0;
    EXPECT_NO_THROW(make_manifest(store, options, Retry({Duration::us(10), Duration::us(10), 1})));
  }
}

TEST(PoolMakeManifest, FilesAndFixed) {
  const Manifest files(manifest_of({{"a", "12"}, {"b", "345"}}, {}));
  EXPECT_EQ(files.records(), 2u);
  const auto bytes =
      manifest_of({{"a", "HH123456"}, {"b", "HH12"}}, {DataFormat::fixed, 2, 2, "*"});
  const Manifest fixed(bytes);
  EXPECT_EQ(fixed.records(), 4u);
  EXPECT_EQ(fixed.source(3).shard, 1u);
}

TEST(PoolMakeManifest, IdxSaysItsOwnSizes) {
  const std::string head("\0\0\x08\x03\0\0\0\x02\0\0\0\x03\0\0\0\x04", 16);
  const auto bytes =
      manifest_of({{"images", head + std::string(24, 'x')}}, {DataFormat::idx, 0, 0, "*"});
  const Manifest manifest(bytes);
  EXPECT_EQ(manifest.records(), 2u);
  EXPECT_EQ(manifest.head().record_bytes, 12u);
  EXPECT_EQ(manifest.source(1).offset, 28u);
}

TEST(PoolMakeManifest, SaysWhatIsWrongAndWhere) {
  using testing::HasSubstr;
  EXPECT_THAT(problem_of({{"a", "1"}}, {DataFormat::files, 0, 0, "*.png"}), HasSubstr("*.png"));
  EXPECT_THAT(problem_of({{"a", "123"}}, {DataFormat::fixed, 2, 0, "*"}),
              HasSubstr("whole records"));
  EXPECT_THAT(problem_of({{"a", "123"}}, {DataFormat::fixed, 0, 0, "*"}),
              HasSubstr("record_bytes"));
  EXPECT_THAT(problem_of({{"a.tar", "no tar"}}, {DataFormat::tar, 0, 0, "*"}), HasSubstr("a.tar"));
  EXPECT_THAT(
      problem_of({{"a.tar", tar_member("x", "data").substr(0, 514)}}, {DataFormat::tar, 0, 0, "*"}),
      HasSubstr("ends inside"));
  EXPECT_THAT(problem_of({{"a", "\x1f\x8b packed"}}, {DataFormat::idx, 0, 0, "*"}),
              HasSubstr("no IDX"));
  const std::string head("\0\0\x08\x01\0\0\0\x09", 8);
  EXPECT_THAT(problem_of({{"a", head + "12"}}, {DataFormat::idx, 0, 0, "*"}),
              HasSubstr("its head says 17"));
}

}  // namespace
}  // namespace tributary::pool
