#include "control/capture/pcapng.h"

#include <cstring>

namespace tributary::control {
namespace {

enum class Block : std::uint32_t {
  section = 0x0A0D0D0A,
  interface = 1,
  interface_statistics = 5,
  enhanced_packet = 6,
};

// Numbers of options mean different things in different blocks.
constexpr std::uint16_t kEnd = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kSectionApplication = 4;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kInterfaceResolution = 9;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kStatisticsMissed = 5;

constexpr std::uint32_t kByteOrder = 0x1A2B3C4D;
constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};
constexpr std::uint16_t kLinkTypeEthernet = 1;
constexpr std::uint8_t kNanoseconds = 9;

template <typename T>
void append(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// A block under construction: its length stands on both ends.
class Writer {
 public:
  Writer(std::string& out, Block type) : out_(out), start_(out.size()) {
    append(out_, static_cast<std::uint32_t>(type));
    append(out_, std::uint32_t{0});
  }
  ~Writer() {
    const auto length = static_cast<std::uint32_t>(out_.size() - start_ + sizeof(std::uint32_t));
    std::memcpy(out_.data() + start_ + 4, &length, sizeof length);
    append(out_, length);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  template <typename T>
  void add(T value) {
    append(out_, value);
  }
  void add_time(std::uint64_t when) {
    add(static_cast<std::uint32_t>(when >> 32));
    add(static_cast<std::uint32_t>(when));
  }
  void add_bytes(std::string_view bytes) {
    out_.append(bytes);
    out_.append((4 - bytes.size() % 4) % 4, '\0');
  }
  void add_option(std::uint16_t code, std::string_view value) {
    add(code);
    add(static_cast<std::uint16_t>(value.size()));
    add_bytes(value);
  }
  template <typename T>
  void add_number_option(std::uint16_t code, T value) {
    std::string bytes;
    append(bytes, value);
    add_option(code, bytes);
  }
  void end_options() { add_option(kEnd, {}); }

 private:
  std::string& out_;
  std::size_t start_;
};

}  // namespace

void pcapng_section(std::string& out, std::string_view application) {
  Writer block(out, Block::section);
  block.add(kByteOrder);
  block.add(std::uint16_t{1});  // version 1.0
  block.add(std::uint16_t{0});
  block.add(kUnknownLength);
  block.add_option(kSectionApplication, application);
  block.end_options();
}

void pcapng_interface(std::string& out, std::string_view name, std::uint32_t snap) {
  Writer block(out, Block::interface);
  block.add(kLinkTypeEthernet);
  block.add(std::uint16_t{0});
  block.add(snap);
  block.add_option(kInterfaceName, name);
  block.add_number_option(kInterfaceResolution, kNanoseconds);
  block.end_options();
}

void pcapng_packet(std::string& out, const PcapngPacket& packet) {
  Writer block(out, Block::enhanced_packet);
  block.add(packet.interface);
  block.add_time(packet.when_ns);
  block.add(static_cast<std::uint32_t>(packet.bytes.size()));
  block.add(packet.length);
  block.add_bytes({reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()});
  block.add_number_option(kPacketFlags, static_cast<std::uint32_t>(packet.direction));
  if (!packet.comment.empty()) block.add_option(kComment, packet.comment);
  block.end_options();
}

void pcapng_losses(std::string& out, std::uint32_t interface, std::uint64_t when_ns,
                   std::uint64_t missed, std::string_view comment) {
  Writer block(out, Block::interface_statistics);
  block.add(interface);
  block.add_time(when_ns);
  block.add_number_option(kStatisticsMissed, missed);
  if (!comment.empty()) block.add_option(kComment, comment);
  block.end_options();
}

}  // namespace tributary::control
