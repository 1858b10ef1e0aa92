// Tar archives, as GNU tar and Python write them, and WebDataset's names.
#include "pool/record/tar.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace tributary::pool {
namespace {

void append(std::vector<std::byte>& out, std::string_view text, std::size_t padded) {
  const std::size_t at = out.size();
  out.resize(at + padded);
  std::memcpy(out.data() + at, text.data(), text.size());
}

void header(std::vector<std::byte>& out, const std::string& name, std::size_t bytes,
            char kind = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(257, 8, std::string("ustar\00000", 8));
  std::snprintf(block.data() + 124, 12, "%011zo", bytes);
  block[156] = kind;
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block.data() + 148, 8, "%06o", sum);
  append(out, block, 512);
}

void member(std::vector<std::byte>& out, const std::string& name, std::string_view data) {
  header(out, name, data.size());
  append(out, data, (data.size() + 511) / 512 * 512);
}

TEST(PoolTar, ListsMembersAndWhereTheyAre) {
  std::vector<std::byte> tar;
  header(tar, "dir/", 0, '5');
  member(tar, "dir/0001.jpg", std::string(600, 'j'));
  member(tar, "dir/0001.cls", "7");
  tar.resize(tar.size() + 1024);
  std::vector<TarMember> members;
  ASSERT_TRUE(list_tar(tar, members));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].name, "dir/0001.jpg");
  EXPECT_EQ(members[0].header_offset, 512u);
  EXPECT_EQ(members[0].data_offset, 1024u);
  EXPECT_EQ(members[0].bytes, 600u);
  EXPECT_EQ(members[0].end(), 2048u);
  EXPECT_EQ(members[1].data_offset, 2560u);
}

TEST(PoolTar, LongNamesBelongToTheirMember) {
  const std::string name = std::string(120, 'd') + "/x.txt";
  for (const bool pax : {false, true}) {
    std::vector<std::byte> tar;
    if (pax) {
      const std::string line = "136 path=" + name + "\n";
      ASSERT_EQ(line.size(), 136u);
      header(tar, "PaxHeaders/x", line.size(), 'x');
      append(tar, line, 512);
    } else {
      header(tar, "././@LongLink", name.size() + 1, 'L');
      append(tar, name, 512);
    }
    member(tar, "short", "data");
    std::vector<TarMember> members;
    ASSERT_TRUE(list_tar(tar, members));
    ASSERT_EQ(members.size(), 1u);
    EXPECT_EQ(members[0].name, name);
    EXPECT_EQ(members[0].header_offset, 0u);
    EXPECT_EQ(members[0].data_offset, 1536u);
  }
}

TEST(PoolTar, EveryFlippedBitOfAHeaderIsNoticed) {
  std::vector<std::byte> tar;
  member(tar, "a.txt", "data");
  for (std::size_t bit = 0; bit < 512 * 8; ++bit) {
    if (bit / 8 >= 148 && bit / 8 < 156) continue;  // of the checksum, some bits mean nothing
    tar[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    std::vector<TarMember> members;
    EXPECT_FALSE(list_tar(tar, members)) << "bit " << bit;
    tar[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
}

TEST(PoolTar, WhatEndsTooEarlyIsRefused) {
  std::vector<std::byte> tar;
  member(tar, "a.txt", std::string(1000, 'x'));
  for (const std::size_t length : {100u, 511u, 513u, 1500u}) {
    std::vector<TarMember> members;
    EXPECT_FALSE(list_tar(std::span(tar).first(length), members)) << length;
  }
}

TEST(PoolTar, WebDatasetNames) {
  const auto parts = [](std::string_view name) {
    const auto its = sample_member(name);
    return its ? its->key + " " + its->suffix : "skipped";
  };
  EXPECT_EQ(parts("a/b.c/0001.left.jpg"), "a/b.c/0001 left.jpg");
  EXPECT_EQ(parts("./0001.JPG"), "./0001 jpg");
  EXPECT_EQ(parts("0001."), "0001 ");
  EXPECT_EQ(parts("__a.jpg"), "__a jpg");
  for (const char* name : {"README", "a/readme", "a.b/c", "._0001.jpg", "a/._0001.jpg", "__info__",
                           "__meta__/0001.json", "a/__info__"})
    EXPECT_EQ(parts(name), "skipped") << name;
}

TEST(PoolTar, SuffixesOfASampleComeOnce) {
  SampleSuffixes suffixes;
  EXPECT_TRUE(suffixes.add("jpg"));
  EXPECT_TRUE(suffixes.add("cls"));
  EXPECT_FALSE(suffixes.add("jpg"));
  EXPECT_FALSE(suffixes.add("__key__"));
  suffixes.clear();
  EXPECT_TRUE(suffixes.add("jpg"));
}

}  // namespace
}  // namespace tributary::pool
