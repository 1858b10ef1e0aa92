#include "core/net/lldp.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/net/read.h"

namespace tributary::wire {
namespace {

// Clause 8.4; table 8-1.
enum : std::uint8_t {
  kEnd = 0,
  kChassisId = 1,
  kPortId = 2,
  kTimeToLive = 3,
  kPortDescription = 4,
  kSystemName = 5,
  kSystemDescription = 6,
  kCapabilities = 7,
  kManagementAddress = 8,
};
constexpr std::size_t kHeadBytes = 2;
constexpr std::size_t kMaxTextBytes = 255;
constexpr std::uint8_t kFamilyIpv4 = 1;  // IANA address family numbers
constexpr std::uint16_t kBridge = 1 << 2;
constexpr std::size_t kLeastFrameBytes = 60;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Tlv {
  std::uint8_t type = kEnd;
  std::span<const std::byte> value;
};

// Takes the first TLV off `rest`. Returns nullopt if it is cut short.
std::optional<Tlv> take(std::span<const std::byte>& rest) {
  if (rest.size() < kHeadBytes) return std::nullopt;
  const std::uint16_t head = u16(rest, 0);
  const std::size_t length = head & 0x1FFu;
  if (rest.size() - kHeadBytes < length) return std::nullopt;
  const Tlv tlv{static_cast<std::uint8_t>(head >> 9), rest.subspan(kHeadBytes, length)};
  rest = rest.subspan(kHeadBytes + length);
  return tlv;
}

bool read_id(std::span<const std::byte> value, LldpId& id) {
  if (value.size() < 2 || value.size() > 1 + kMaxTextBytes) return false;
  id = {u8(value, 0), text_of(value.subspan(1))};
  return true;
}

// Clause 8.5.9: length and family of the address, the address, then fields not needed here.
bool read_address(std::span<const std::byte> value, LldpMessage& message) {
  if (value.size() < 9) return false;
  const std::size_t length = u8(value, 0);
  if (length < 2 || length > 32 || value.size() < 1 + length + 6) return false;
  if (u8(value, 1) == kFamilyIpv4 && length == 5 && !message.management_ipv4)
    message.management_ipv4 = std::uint32_t{u16(value, 2)} << 16 | u16(value, 4);
  return true;
}

bool read_text(std::span<const std::byte> value, std::string& text) {
  if (value.size() > kMaxTextBytes || !text.empty()) return false;
  text = text_of(value);
  return true;
}

bool read_optional(const Tlv& tlv, LldpMessage& message) {
  switch (tlv.type) {
    case kChassisId:
    case kPortId:
    case kTimeToLive: return false;  // a second one
    case kPortDescription: return read_text(tlv.value, message.port_description);
    case kSystemName: return read_text(tlv.value, message.system_name);
    case kSystemDescription: return read_text(tlv.value, message.system_description);
    case kManagementAddress: return read_address(tlv.value, message);
    default: return true;
  }
}

bool read_mandatory(std::span<const std::byte>& rest, LldpMessage& message) {
  const auto chassis = take(rest);
  if (!chassis || chassis->type != kChassisId || !read_id(chassis->value, message.chassis))
    return false;
  const auto port = take(rest);
  if (!port || port->type != kPortId || !read_id(port->value, message.port)) return false;
  const auto life = take(rest);
  if (!life || life->type != kTimeToLive || life->value.size() < 2) return false;
  message.ttl_seconds = u16(life->value, 0);
  return true;
}

// Appends to a frame; once something did not fit, nothing does.
class Writer {
 public:
  explicit Writer(std::span<std::byte> room) : room_(room) {}

  void put(std::span<const std::byte> bytes) {
    if (room_.size() - length_ < bytes.size()) room_ = room_.first(length_ = 0);
    if (!room_.empty()) std::copy(bytes.begin(), bytes.end(), room_.begin() + at(bytes.size()));
  }
  void put16(std::uint32_t value) {
    put(std::array{static_cast<std::byte>(value >> 8), static_cast<std::byte>(value & 0xFF)});
  }
  void put_text(std::string_view text) { put(std::as_bytes(std::span(text))); }
  void begin(std::uint8_t type, std::size_t length) {
    put16(static_cast<std::uint32_t>(type) << 9 | static_cast<std::uint32_t>(length));
  }
  void put_id(std::uint8_t type, const LldpId& id) {
    const auto name = std::string_view(id.name).substr(0, kMaxTextBytes);
    begin(type, 1 + name.size());
    put(std::array{static_cast<std::byte>(id.subtype)});
    put_text(name);
  }
  void put_optional(std::uint8_t type, const std::string& text) {
    if (text.empty()) return;
    const auto cut = std::string_view(text).substr(0, kMaxTextBytes);
    begin(type, cut.size());
    put_text(cut);
  }
  // Zeros up to the least length of a frame.
  std::size_t finish() {
    constexpr std::array<std::byte, kLeastFrameBytes> kZeros{};
    if (!room_.empty() && length_ < kLeastFrameBytes)
      put(std::span(kZeros).first(kLeastFrameBytes - length_));
    return room_.empty() ? 0 : length_;
  }

 private:
  std::ptrdiff_t at(std::size_t bytes) {
    const std::size_t here = length_;
    length_ += bytes;
    return static_cast<std::ptrdiff_t>(here);
  }

  std::span<std::byte> room_;
  std::size_t length_ = 0;
};

void put_address(Writer& out, std::uint32_t ipv4) {
  constexpr std::size_t kBytes = 12;
  out.begin(kManagementAddress, kBytes);
  out.put(std::array{std::byte{5}, std::byte{kFamilyIpv4}});
  out.put16(ipv4 >> 16);
  out.put16(ipv4 & 0xFFFF);
  out.put(std::array<std::byte, 6>{std::byte{1}});  // its interface: unknown; no object identifier
}

std::string hex(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

std::string mac_text(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes)
    text.append(text.empty() ? "" : ":").append(hex(static_cast<std::uint8_t>(byte)));
  return text;
}

std::string id_text(const LldpId& id, std::uint8_t mac, std::uint8_t address) {
  if (id.subtype == mac && id.name.size() == 6) return mac_text(id.name);
  if (id.subtype != address || id.name.size() != 5 || id.name[0] != char{kFamilyIpv4})
    return lldp_text(id.name);
  std::string text;
  for (const char byte : std::string_view(id.name).substr(1))
    text.append(text.empty() ? "" : ".").append(std::to_string(static_cast<std::uint8_t>(byte)));
  return text;
}

}  // namespace

std::optional<LldpMessage> parse_lldp(std::span<const std::byte> body) {
  LldpMessage message;
  if (!read_mandatory(body, message)) return std::nullopt;
  // The end TLV may be left out if nothing else follows.
  while (!body.empty()) {
    const auto tlv = take(body);
    if (!tlv) return std::nullopt;
    if (tlv->type == kEnd) {
      if (!tlv->value.empty()) return std::nullopt;
      break;
    }
    if (!read_optional(*tlv, message)) return std::nullopt;
  }
  return message;
}

std::size_t write_lldp(const MacAddress& source, const LldpMessage& message,
                       std::span<std::byte> frame) {
  Writer out(frame);
  out.put(std::as_bytes(std::span(kLldpGroup)));
  out.put(std::as_bytes(std::span(source)));
  out.put16(kEtherTypeLldp);
  out.put_id(kChassisId, message.chassis);
  out.put_id(kPortId, message.port);
  out.begin(kTimeToLive, 2);
  out.put16(message.ttl_seconds);
  if (message.ttl_seconds != 0) {  // clause 9.1.2.2: a shutdown message has no more
    out.put_optional(kPortDescription, message.port_description);
    out.put_optional(kSystemName, message.system_name);
    out.put_optional(kSystemDescription, message.system_description);
    out.begin(kCapabilities, 4);
    out.put16(kBridge);
    out.put16(kBridge);
    if (message.management_ipv4) put_address(out, *message.management_ipv4);
  }
  out.begin(kEnd, 0);
  return out.finish();
}

std::string lldp_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '\\')
      text.append("\\\\");
    else if (c >= ' ' && c <= '~')
      text.push_back(c);
    else
      text.append("\\x").append(hex(static_cast<std::uint8_t>(c)));
  }
  return text;
}

std::string lldp_chassis_text(const LldpId& chassis) {
  return id_text(chassis, kLldpChassisMac, kLldpChassisAddress);
}
std::string lldp_port_text(const LldpId& port) {
  return id_text(port, kLldpPortMac, kLldpPortAddress);
}

}  // namespace tributary::wire
