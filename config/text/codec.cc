// Strict parsers and printers of single configuration values.
#include "config/text/codec.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace tributary::config {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_identifier_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         c == '-';
}

// Longest first within a shared suffix: "30ms" also ends in "s".
struct Unit {
  std::string_view suffix;
  std::int64_t ns;
};
constexpr std::array<Unit, 6> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"min", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

// Escapes in quoted YAML can produce any byte, NUL included.
bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
}

bool valid_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (!printable(text)) return false;
  if (colon == std::string_view::npos) return false;
  const auto port = parse_integer(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) return false;
  const std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    in6_addr address{};
    return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  return parse_ipv4(host).has_value();
}

bool unicast_host(std::uint32_t ip) {
  const std::uint32_t first = ip >> 24;
  return first != 0 && first != 127 && first < 224;
}

// A codec for text that has to pass only one test.
template <typename Test>
Codec<std::string> tested_text(const char* type, const std::string& allowed, const char* problem,
                               Test test) {
  return {type, allowed,
          [=](const Node& node, std::string& out) -> std::optional<std::string> {
            if (!test(node.text)) return problem;
            out = node.text;
            return std::nullopt;
          },
          [](const std::string& value) {
            return value.empty() ? std::nullopt : std::optional(format_text(value));
          }};
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return negative ? std::numeric_limits<std::int64_t>::min()
                    : std::numeric_limits<std::int64_t>::max();
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::string> check_integer(const Node& node, std::int64_t least, std::int64_t most,
                                         std::int64_t& out) {
  const auto value = node.quoted ? std::nullopt : parse_integer(node.text);
  if (!value) return "is not an integer";
  if (*value < least || *value > most) return "is out of range";
  out = *value;
  return std::nullopt;
}

std::optional<Duration> parse_duration(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const auto value = parse_integer(text.substr(0, digits));
  if (!value) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(digits) != unit.suffix) continue;
    if (*value > std::numeric_limits<std::int64_t>::max() / unit.ns) return Duration::max();
    return Duration::ns(*value * unit.ns);
  }
  return std::nullopt;
}

std::string format_duration(Duration d) {
  // Minutes and hours read back well but hide the number that logs and metrics show: seconds.
  for (const auto& [suffix, ns] : {kUnits[3], kUnits[2], kUnits[1]})
    if (d.to_ns() != 0 && d.to_ns() % ns == 0)
      return std::to_string(d.to_ns() / ns) + std::string(suffix);
  return d.to_ns() == 0 ? "0s" : std::to_string(d.to_ns()) + "ns";
}

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  in_addr address{};
  if (!printable(text)) return std::nullopt;  // c_str() would end at a NUL
  if (inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::string format_ipv4(std::uint32_t address) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += std::to_string((address >> shift) & 0xFF) + (shift > 0 ? "." : "");
  return out;
}

std::optional<wire::MacAddress> parse_mac(std::string_view text) {
  wire::MacAddress mac{};
  if (text.size() != 17) return std::nullopt;
  for (std::size_t i = 0; i < mac.size(); ++i) {
    const char* first = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(first, first + 2, mac[i], 16);
    if (error != std::errc{} || end != first + 2) return std::nullopt;
    if (i + 1 < mac.size() && first[2] != ':') return std::nullopt;
  }
  return mac;
}

std::string format_mac(const wire::MacAddress& mac) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : mac) {
    if (!out.empty()) out += ':';
    out += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

std::string format_real(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string format_text(std::string_view text) {
  // Plain only if no YAML reader takes it for something else: a word that starts with a letter and
  // is not one of YAML's own.
  const bool word = !text.empty() && !is_digit(text.front()) && text.front() != '-' &&
                    text.front() != '.' &&
                    std::all_of(text.begin(), text.end(), is_identifier_char);
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::array<std::string_view, 9> kReserved = {"true", "false", "null", "yes", "no",
                                                         "on",   "off",   "y",    "n"};
  if (word && std::find(kReserved.begin(), kReserved.end(), lower) == kReserved.end())
    return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

Codec<bool> boolean() {
  return {"boolean", "true, false",
          [](const Node& node, bool& out) -> std::optional<std::string> {
            if (node.quoted || (node.text != "true" && node.text != "false"))
              return "is not a boolean";
            out = node.text == "true";
            return std::nullopt;
          },
          [](const bool& value) { return std::optional<std::string>(value ? "true" : "false"); }};
}

Codec<Duration> duration(Duration least, Duration most, Duration unit) {
  std::string allowed = format_duration(least) + " to " + format_duration(most);
  if (unit > Duration::ns(1)) allowed += ", whole multiples of " + format_duration(unit);
  return {"duration", allowed + " (a number and ns, us, ms, s, min or h)",
          [=](const Node& node, Duration& out) -> std::optional<std::string> {
            const auto value = parse_duration(node.text);
            if (!value) return "is not a duration";
            if (*value < least || *value > most) return "is out of range";
            if (value->to_ns() % unit.to_ns() != 0)
              return "is not a whole multiple of " + format_duration(unit);
            out = *value;
            return std::nullopt;
          },
          [](const Duration& value) { return std::optional(format_duration(value)); }};
}

Codec<std::string> identifier() {
  return tested_text("name", "1 to 64 letters, digits, '.', '_' or '-'", "is not a name",
                     [](const std::string& text) {
                       return !text.empty() && text.size() <= 64 &&
                              std::all_of(text.begin(), text.end(), is_identifier_char);
                     });
}

Codec<std::string> devargs() {
  return tested_text(
      "text",
      "a DPDK device, e.g. \"net_af_packet0,iface=eth1\" or \"0000:03:00.0\", at "
      "most 1024 printable characters, no spaces",
      "is not a DPDK device", [](const std::string& text) {
        return !text.empty() && text.front() != ',' && text.front() != '-' && text.size() <= 1024 &&
               std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
      });
}

Codec<std::string> listen_address() {
  return tested_text("address", "IPV4:PORT or [IPV6]:PORT; port 0: any free one",
                     "is not an address and a port", valid_listen_address);
}

Codec<std::string> socket_path() {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  return tested_text("path", "an absolute path of at most " + std::to_string(kMost) + " bytes",
                     "is not a usable socket path", [](const std::string& text) {
                       return text.size() > 1 && text.front() == '/' && text.back() != '/' &&
                              text.size() <= kMost && printable(text);
                     });
}

Codec<std::string> absolute_path() {
  return tested_text("path", "an absolute path", "is not an absolute path",
                     [](const std::string& text) {
                       return !text.empty() && text.front() == '/' && printable(text);
                     });
}

Codec<double> real(double least, double most, UpperEnd upper) {
  const bool open = upper == UpperEnd::open;
  const std::string range =
      format_real(least) + " to " + (open ? "less than " : "") + format_real(most);
  return {"number", range,
          [=](const Node& node, double& out) -> std::optional<std::string> {
            double value = 0;
            const char* const end = node.text.data() + node.text.size();
            const auto [at, error] = std::from_chars(node.text.data(), end, value);
            if (error != std::errc() || at != end || !std::isfinite(value))
              return "is not a number";
            if (value < least || value > most || (open && value == most)) return "is out of range";
            out = value;
            return std::nullopt;
          },
          [](const double& value) { return std::optional(format_real(value)); }};
}

Codec<std::uint32_t> host_ipv4() {
  return {"IPv4 address", "a unicast address, e.g. 10.77.0.254",
          [](const Node& node, std::uint32_t& out) -> std::optional<std::string> {
            const auto value = parse_ipv4(node.text);
            if (!value) return "is not an IPv4 address";
            if (!unicast_host(*value)) return "is not a host's unicast address";
            out = *value;
            return std::nullopt;
          },
          [](const std::uint32_t& value) { return std::optional(format_ipv4(value)); }};
}

Codec<wire::MacAddress> unicast_mac() {
  return {
      "MAC address", "a unicast address, e.g. 02:74:0a:4d:00:fe",
      [](const Node& node, wire::MacAddress& out) -> std::optional<std::string> {
        const auto value = parse_mac(node.text);
        if (!value) return "is not a MAC address";
        if (wire::is_multicast(*value) || wire::is_zero(*value))
          return "is not a unicast MAC address";
        out = *value;
        return std::nullopt;
      },
      [](const wire::MacAddress& value) { return std::optional(format_text(format_mac(value))); }};
}

Codec<wire::Integrity> integrity() {
  return one_of<wire::Integrity>({{"udp-checksum", wire::Integrity::udp_checksum},
                                  {"crc32c", wire::Integrity::crc32c},
                                  {"always", wire::Integrity::always}});
}

std::string text_of(const NumberRange& range) {
  std::string text = std::to_string(range.first);
  if (range.first != range.last) text.append("-").append(std::to_string(range.last));
  return text;
}

Codec<NumberRange> number_range(const std::string& type, std::uint16_t least, std::uint16_t most) {
  return {type,
          std::to_string(least) + " to " + std::to_string(most) +
              ", or a range of these such as 100-199",
          [=](const Node& node, NumberRange& out) -> std::optional<std::string> {
            const std::string_view text = node.text;
            const std::size_t dash = text.find('-');
            const auto first = parse_integer(text.substr(0, dash));
            const auto last =
                dash == std::string_view::npos ? first : parse_integer(text.substr(dash + 1));
            if (node.quoted || !first || !last) return "is neither a number nor a range";
            if (*first < least || *last > most || *first > *last) return "is out of range";
            out = {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
            return std::nullopt;
          },
          [](const NumberRange& range) { return std::optional(text_of(range)); }};
}

}  // namespace tributary::config
