// Texts that users type: addresses of transports, device arguments, and the values of configuration
// files. Accepted ones are within their limits and, where there is a writer, read back the same.
#include <limits>
#include <stdexcept>
#include <string>

#include "config/text/codec.h"
#include "dataplane/frame/devargs.h"
#include "tests/fuzz/target.h"
#include "worker/transport/memif_address.h"

namespace tributary::fuzz {
namespace {

void check_memif_address(const std::string& text) {
  try {
    const worker::MemifAddress a = worker::parse_memif_address(text, 7, 3);
    FUZZ_CHECK(a.socket.size() > 1 && a.socket.size() < 108 && a.socket.front() == '/');
    FUZZ_CHECK(a.own_ipv4 != 0 && a.own_ipv4 != a.switch_ipv4);
    FUZZ_CHECK((a.base_port != 0 || a.switch_ipv4 == 0) &&
               a.base_port + (config::kMaxShards - 1) <= 0xFFFF);
    std::string canonical = "memif://" + a.socket + "?id=" + std::to_string(a.id) +
                            "&ip=" + worker::ipv4_text(a.own_ipv4);
    if (a.switch_ipv4 != 0) canonical += "&switch=" + worker::ipv4_text(a.switch_ipv4);
    if (a.base_port != 0) canonical += "&port=" + std::to_string(a.base_port);
    const worker::MemifAddress b = worker::parse_memif_address(canonical, 7, 3);
    FUZZ_CHECK(a.socket == b.socket && a.id == b.id && a.switch_ipv4 == b.switch_ipv4);
    FUZZ_CHECK(a.own_ipv4 == b.own_ipv4 && a.base_port == b.base_port);
  } catch (const std::invalid_argument&) {
  }
}

void check_devargs(const std::string& text) {
  const dataplane::Devargs parsed = dataplane::parse_devargs(text);
  std::string joined = parsed.device;
  for (const auto& [key, value] : parsed.arguments) {
    FUZZ_CHECK(key.find_first_of(",=") == std::string::npos);
    FUZZ_CHECK(value.find(',') == std::string::npos && parsed.get(key).has_value());
    joined += "," + key + (value.empty() ? "" : "=" + value);
  }
  // "key=" and "key" are the same to DPDK.
  FUZZ_CHECK(joined.size() <= text.size());
  for (const std::uint32_t mtu : {256u, 1500u, 9216u}) {
    const config::PortConfig port{"p", text, mtu};
    FUZZ_CHECK(dataplane::data_bytes_needed(port) >= dataplane::largest_frame_bytes(port) ||
               !dataplane::check_devargs(port).empty());
  }
}

void check_values(std::string_view text) {
  if (const auto n = config::parse_integer(text)) {
    // Numbers too large are as large as possible, so that they are out of any range.
    const bool limit = *n == std::numeric_limits<std::int64_t>::max() ||
                       *n == std::numeric_limits<std::int64_t>::min();
    FUZZ_CHECK(limit || std::to_string(*n) == text || text == "-0");
  }
  if (const auto ip = config::parse_ipv4(text)) FUZZ_CHECK(config::format_ipv4(*ip) == text);
  if (const auto mac = config::parse_mac(text))
    FUZZ_CHECK(config::parse_mac(config::format_mac(*mac)) == mac);
  if (const auto d = config::parse_duration(text)) {
    FUZZ_CHECK(config::parse_duration(config::format_duration(*d)) == d);
    FUZZ_CHECK(*d >= Duration());
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  const auto text = as_text(data, size);
  check_memif_address(std::string(text));
  check_devargs(std::string(text));
  check_values(text);
  return 0;
}
