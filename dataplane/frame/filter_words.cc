#include "dataplane/frame/filter_words.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

namespace tributary::dataplane {
namespace {

// Between words; a minus may stand within one (`tcp-syn`), and a colon within an address.
constexpr std::string_view kBetween = " \t\r\n+*/%&|^=!<>()[]";
constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kDecimal = "0123456789";
constexpr std::string_view kHex = "0123456789abcdefABCDEF";

// Each between spaces. Not those that only make sense before a name (`gateway`), or on other links
// (`wlan`).
constexpr std::string_view kWords =
    " and or not src dst host net mask port portrange proto protochain less greater len "
    "length byte broadcast multicast inbound outbound link ether vlan mpls pppoed pppoes "
    "geneve llc arp rarp ip ip6 icmp icmp6 igmp igrp pim vrrp carp ah esp tcp udp sctp atalk "
    "aarp decnet lat sca moprc mopdl iso clnp esis isis stp ipx netbeui icmptype icmpcode "
    "icmp-echoreply icmp-unreach icmp-sourcequench icmp-redirect icmp-echo icmp-routeradvert "
    "icmp-routersolicit icmp-timxceed icmp-paramprob icmp-tstamp icmp-tstampreply icmp-ireq "
    "icmp-ireqreply icmp-maskreq icmp-maskreply icmp6type icmp6code icmp6-destinationunreach "
    "icmp6-packettoobig icmp6-timeexceeded icmp6-parameterproblem icmp6-echo icmp6-echoreply "
    "icmp6-multicastlistenerquery icmp6-multicastlistenerreportv1 "
    "icmp6-multicastlistenerdone icmp6-routersolicit icmp6-routeradvert "
    "icmp6-neighborsolicit icmp6-neighboradvert icmp6-redirect tcpflags tcp-fin tcp-syn "
    "tcp-rst tcp-push tcp-ack tcp-urg tcp-ece tcp-cwr ";

bool all_in(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

// Splits at the first `at`; takes the part before it from the text.
std::string_view take_part(std::string_view& text, char at) {
  const std::size_t end = std::min(text.find(at), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool is_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return all_in(text.substr(2), kHex);
  return all_in(text, kDecimal);
}

// An IPv4 address, or the beginning of one, as of a network.
bool is_dotted(std::string_view text) {
  if (std::count(text.begin(), text.end(), '.') > 3 || text.ends_with('.')) return false;
  while (!text.empty())
    if (!all_in(take_part(text, '.'), kDecimal)) return false;
  return true;
}

bool is_range(std::string_view text) {
  const std::string_view first = take_part(text, '-');
  return all_in(first, kDecimal) && all_in(text, kDecimal);
}

bool is_mac(std::string_view text) {
  if (std::count(text.begin(), text.end(), ':') != 5 || text.ends_with(':')) return false;
  while (!text.empty()) {
    const std::string_view byte = take_part(text, ':');
    if (byte.size() > 2 || !all_in(byte, kHex)) return false;
  }
  return true;
}

bool is_ip6(std::string_view text) {
  in6_addr address{};
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

bool is_word(std::string_view text) {
  return kWords.find(std::string(1, ' ').append(text).append(1, ' ')) != std::string_view::npos;
}

// A word without a colon; a minus on either end is an operator.
bool is_known(std::string_view text) {
  while (text.starts_with('-')) text.remove_prefix(1);
  while (text.ends_with('-')) text.remove_suffix(1);
  return text.empty() || is_number(text) || is_dotted(text) || is_word(text);
}

// Addresses are taken as wholes: libpcap takes the longest one that it finds, and what would be
// left of something longer may be a name to it. One colon alone (`ip[2:2]`) is in no address.
bool needs_no_lookup(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  if (is_mac(text) || is_ip6(text)) return true;
  const std::string_view before = take_part(text, ':');
  return is_known(before) && is_known(text);
}

}  // namespace

std::string_view filter_words() {
  return kWords;
}

std::optional<std::string_view> looked_up(std::string_view filter) {
  bool range = false;  // a range of ports comes next, which would be a name elsewhere
  while (!filter.empty()) {
    const std::size_t gap = std::min(filter.find_first_not_of(kBetween), filter.size());
    if (filter.find_first_not_of(kBlank) < gap) range = false;
    filter.remove_prefix(gap);
    const std::string_view word = filter.substr(0, filter.find_first_of(kBetween));
    if (!word.empty() && !needs_no_lookup(word) && !(range && is_range(word))) return word;
    range = word == "portrange";
    filter.remove_prefix(word.size());
  }
  return std::nullopt;
}

}  // namespace tributary::dataplane
