#include "manager/etcd/address.h"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& address) {
  try {
    static_cast<void>(parse_etcd_address(address));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(EtcdAddress, HasMembersAndAName) {
  const EtcdAddress one = parse_etcd_address("etcd:db");
  EXPECT_THAT(one.endpoints, ElementsAre("db:2379"));
  EXPECT_EQ(one.prefix, "tributary/");
  const EtcdAddress three = parse_etcd_address("etcd:a:1,[2001:db8::1],[::1]:65535/lab-2");
  EXPECT_THAT(three.endpoints, ElementsAre("a:1", "[2001:db8::1]:2379", "[::1]:65535"));
  EXPECT_EQ(three.prefix, "lab-2/");
  EXPECT_TRUE(is_etcd_address("etcd:"));
  EXPECT_FALSE(is_etcd_address("sqlite:etcd:a"));
}

TEST(EtcdAddress, WhatIsNoneIsRefusedWithWhatIsAllowed) {
  for (const char* bad :
       {"sqlite:x", "etcd:", "etcd:a,,b", "etcd::2379", "etcd:a:0", "etcd:a:65536", "etcd:a:x",
        "etcd:a b", "etcd:a/", "etcd:a/X", "etcd:a/b/c", "etcd:2001:db8::1", "etcd:a:1:2"})
    EXPECT_THAT(error_of(bad), HasSubstr("allowed: etcd:HOST[:PORT],...[/NAME]")) << bad;
  EXPECT_THAT(error_of("etcd:2001:db8::1"), HasSubstr("'2001:db8::1' has several colons"));
}

}  // namespace
}  // namespace tributary::manager
