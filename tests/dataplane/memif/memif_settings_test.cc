#include "dataplane/memif/memif_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary::dataplane {
namespace {

TEST(MemifSettings, WhatIsLeftOutIsAsTheDriverHasIt) {
  const MemifSettings settings = memif_settings(parse_devargs("net_memif0,role=server"));
  EXPECT_EQ(settings.device, "net_memif0");
  EXPECT_EQ(settings.socket, "/run/memif.sock");
  EXPECT_TRUE(settings.abstract);
  EXPECT_EQ(settings.id, 0u);
  EXPECT_EQ(settings.secret[0], '\0');
  EXPECT_EQ(settings.per_user, 0u);
}

TEST(MemifSettings, EveryArgumentIsTaken) {
  const MemifSettings settings = memif_settings(parse_devargs(
      "net_memif7,role=server,id=4294967295,socket=/run/m,socket-abstract=no,secret=abc,rsize=14,"
      "per-user=4"));
  EXPECT_EQ(settings.per_user, 4u);
  EXPECT_EQ(settings.socket, "/run/m");
  EXPECT_FALSE(settings.abstract);
  EXPECT_EQ(settings.id, 4294967295u);
  EXPECT_STREQ(settings.secret.data(), "abc");
}

TEST(MemifSettings, OnlyAServerIsServed) {
  EXPECT_TRUE(serves_memif(parse_devargs("net_memif0,role=server")));
  EXPECT_FALSE(serves_memif(parse_devargs("net_memif0,role=client")));
  EXPECT_FALSE(serves_memif(parse_devargs("net_memif0")));
  EXPECT_FALSE(serves_memif(parse_devargs("net_vhost0,iface=/s")));
}

TEST(MemifSettings, MistakesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"id=-1", "id=-1 is not a number from 0 to 4294967295"},
      {"id=4294967296", "is not a number from 0"},
      {"id=", "id= is not a number"},
      {"per-user=33", "per-user=33 is not a number from 0 to 32"},
      {"rsize=15", "rsize=15 is not a number from 1 to 14"},
      {"bsize=x", "bsize=x is not a number from 1 to 65535"},
      {"socket-abstract=maybe", "socket-abstract=maybe is neither yes nor no"},
      {"secret=0123456789012345678901234", "secret has 25 bytes, at most 24"},
  };
  for (const auto& [argument, why] : cases) {
    try {
      memif_settings(parse_devargs("net_memif0,role=server," + argument));
      ADD_FAILURE() << argument << " was accepted";
    } catch (const std::invalid_argument& wrong) {
      EXPECT_THAT(wrong.what(), testing::HasSubstr(why));
    }
  }
}

}  // namespace
}  // namespace tributary::dataplane
