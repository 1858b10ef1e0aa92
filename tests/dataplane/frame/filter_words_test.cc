#include "dataplane/frame/filter_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/io/capture.h"
#include "tests/dataplane/lookups.h"

namespace tributary::dataplane {
namespace {

using testing::Optional;

// libpcap's own opinion; returns how many names it asked for.
unsigned compile(const std::string& filter) {
  const unsigned before = lookups();
  pcap_t* const ethernet = pcap_open_dead(DLT_EN10MB, 2048);
  bpf_program program{};
  if (pcap_compile(ethernet, &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0)
    pcap_freecode(&program);
  pcap_close(ethernet);
  return lookups() - before;
}

TEST(FilterWords, NamesAreFoundAndLibpcapWouldAskForThem) {
  const std::vector<std::pair<std::string, std::string>> filters = {
      {"host nosuch.example", "nosuch.example"},
      {"udp and (src host a or dst host 10.0.0.1)", "a"},
      {"net nosuch", "nosuch"},
      {"port nosuch", "nosuch"},
      {"portrange a-b", "a-b"},
      {"ip proto \\nosuch", "\\nosuch"},
      {"ether host nosuch", "nosuch"},
      {"host \\tcp", "\\tcp"},
      {"host fade", "fade"},
      {"host TCP", "TCP"},
      {"host 10.0.0.1.", "10.0.0.1."},
      {"host 12x", "12x"},
      {"host len-14", "len-14"},
      {"host 47000-47010", "47000-47010"},
      {"portrange 1-2 or host 3-4", "3-4"},
  };
  for (const auto& [filter, name] : filters) {
    EXPECT_THAT(looked_up(filter), Optional(std::string_view(name))) << filter;
    EXPECT_GE(compile(filter), 1u) << filter;
  }
}

TEST(FilterWords, WhatNeedsNoNamesIsLeftAlone) {
  for (const std::string filter : {
           "udp port 47000",
           "tcp[tcpflags]&(tcp-syn|tcp-fin)!=0",
           "ip[2:2]-20 > 0x3f",
           "icmp[icmptype]==icmp-echo",
           "icmp6[icmp6type] == icmp6-echoreply",
           "vlan 100 and ip6 host ::1",
           "host fe80::a:b or host ::ffff:10.0.0.1 or host 1:2:3:4:5:6:7:8",
           "ether src 02:00:00:00:00:a or ether dst host aa:bb:cc:dd:ee:ff",
           "net 10.0.0.0/8 or net 192.168 mask 255.255.0.0",
           "portrange 47000-47010",
           "\tnot ( ip proto 17 )\n",
           "len<=100&&ether[0]&1=0 and not ether proto 0x88b5",
           "greater 1000 or broadcast or multicast",
       }) {
    EXPECT_EQ(looked_up(filter), std::nullopt) << filter;
    EXPECT_NO_THROW(CaptureFilter{filter}) << filter;
    EXPECT_EQ(compile(filter), 0u) << filter;
  }
}

// Each word is one to this version of libpcap, whatever stands before it.
TEST(FilterWords, WordsAreNeverNames) {
  std::istringstream words{std::string(filter_words())};
  for (std::string word; words >> word;)
    for (const char* before : {"", "host ", "net ", "port ", "portrange ", "proto ", "ether host ",
                               "gateway ", "ip proto ", "ether proto ", "src ", "llc "}) {
      const std::string filter = before + word;
      EXPECT_EQ(compile(filter), 0u) << filter;
    }
}

// What is put together from pieces of words and addresses: libpcap never asks for anything in what
// is taken.
TEST(FilterWords, WhateverIsTakenAsksNobody) {
  const std::vector<std::string> pieces = {
      " ",     " ",    ":",       "::",  "-",      ".",   "1",    "0x1f", "10.0.0.1", "fe80",
      "a",     "ff",   "\\",      "$",   "[",      "]",   "(",    ")",    "host ",    "net ",
      "port ", "and",  "tcp",     "/",   ",",      "_",   "1:2:", "%",    "&",        "arp",
      "ether", "esp",  "not ",    "or ", "=",      "len", "+",    "dst",  "aarp",     "6abc",
      "12",    "1234", "tcp-syn", "x",   "proto ", "src "};
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  unsigned taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string filter;
    for (std::size_t left = 1 + random() % 8; left > 0; --left)
      filter += pieces[random() % pieces.size()];
    if (looked_up(filter)) continue;
    ++taken;
    ASSERT_EQ(compile(filter), 0u) << filter;
  }
  EXPECT_GT(taken, 100u);
}

}  // namespace
}  // namespace tributary::dataplane
