#include "worker/transport/packet_check.h"

#include <cstring>

#include "config/model/switch_config.h"
#include "core/net/byte_order.h"
#include "core/wire/extension.h"
#include "core/wire/integrity.h"

namespace tributary::worker {

DropReason check_crc32c(std::span<const std::byte> datagram, const wire::Packet& packet,
                        bool required) {
  const auto crc = wire::find_extension(packet.extensions, wire::ExtensionType::crc32c);
  if (!crc || crc->data.size() < sizeof(wire::be32))
    return required || crc ? DropReason::no_integrity : DropReason::none;
  wire::be32 carried;
  std::memcpy(&carried, crc->data.data(), sizeof carried);
  return wire::packet_crc32c(datagram) == carried ? DropReason::none : DropReason::crc32c;
}

bool is_switch_port(const wire::StartInfo& info, std::uint16_t dialled, std::uint16_t port) {
  const bool started = info.udp_base_port != 0;
  const int place = int{port} - int{started ? info.udp_base_port : dialled};
  return place < config::kMaxShards && place > (started ? -1 : -int{config::kMaxShards});
}

std::uint32_t direct_host(const wire::StartInfo& info) {
  const bool direct = info.notify == static_cast<std::uint8_t>(wire::Notify::direct);
  return direct ? info.completion_host : 0;
}

bool is_direct_result(const wire::StartInfo& info, const wire::Packet& packet) {
  if (packet.header.type != wire::PacketType::result ||
      (packet.header.flags & wire::kFlagAtPs) == 0)
    return false;
  const auto said = wire::find_result_info(packet.extensions);
  return said && said->host_term == info.host_term;
}

}  // namespace tributary::worker
