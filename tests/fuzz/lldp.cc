// LLDP of strangers: what is read fits into what it was read from, is printable, and reads the same
// once it is written again.
#include <algorithm>
#include <array>

#include "core/net/lldp.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;

void check_printable(const std::string& text) {
  FUZZ_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

void check(const LldpMessage& m) {
  for (const LldpId* id : {&m.chassis, &m.port}) {
    FUZZ_CHECK(!id->name.empty() && id->name.size() <= 255);
    check_printable(lldp_chassis_text(*id));
    check_printable(lldp_port_text(*id));
  }
  for (const std::string* text : {&m.port_description, &m.system_name, &m.system_description}) {
    FUZZ_CHECK(text->size() <= 255);
    check_printable(lldp_text(*text));
  }
  std::array<std::byte, kMaxLldpFrameBytes> frame;
  const std::size_t length = write_lldp({2, 0, 0, 0, 0, 1}, m, frame);
  FUZZ_CHECK(length >= 60 && length <= frame.size());
  const auto again = parse_lldp(std::span(frame).first(length).subspan(kEthernetBytes));
  FUZZ_CHECK(again && again->chassis == m.chassis && again->port == m.port);
  FUZZ_CHECK(again->ttl_seconds == m.ttl_seconds);
  const bool stays = m.ttl_seconds != 0;
  FUZZ_CHECK(again->port_description == (stays ? m.port_description : ""));
  FUZZ_CHECK(again->system_name == (stays ? m.system_name : ""));
  FUZZ_CHECK(again->system_description == (stays ? m.system_description : ""));
  FUZZ_CHECK(!stays || again->management_ipv4 == m.management_ipv4);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto message = wire::parse_lldp(fuzz::as_bytes(data, size));
  if (message) fuzz::check(*message);
  return 0;
}
