#include "dataplane/memif/memif_handshake.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "dataplane/memif/memif_refusal.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;

bool is_eventfd(int descriptor) {
  std::error_code gone;
  const auto what =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), gone);
  return !gone && what == "anon_inode:[eventfd]";
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

}  // namespace

memif::Message MemifHandshake::hello() {
  memif::Message hello{};
  hello.type = memif::MessageType::hello;
  memif::kOwnName.copy(hello.hello.name.data(), hello.hello.name.size() - 1);
  hello.hello.min_version = hello.hello.max_version = memif::kVersion;
  hello.hello.max_region = kMostRegions - 1;
  hello.hello.max_server_to_client_ring = config::kMaxQueues - 1;
  hello.hello.max_client_to_server_ring = config::kMaxQueues - 1;
  hello.hello.max_log2_ring_size = kMostLog2RingSize;
  return hello;
}

bool MemifHandshake::take(const memif::Message& message, worker::FileDescriptor passed) {
  using memif::MessageType;
  if (message.type == MessageType::ack) return false;
  if (message.type == MessageType::init) {
    init(message.init);
    return true;
  }
  const bool known = message.type == MessageType::add_region ||
                     message.type == MessageType::add_ring || message.type == MessageType::connect;
  if (!known || !id_)
    throw MemifRefusal("unexpected message of type " +
                       number(static_cast<std::uint16_t>(message.type)));
  if (message.type == MessageType::add_region)
    add_region(message.add_region, std::move(passed));
  else if (message.type == MessageType::add_ring)
    add_ring(message.add_ring, std::move(passed));
  else
    connect();
  return true;
}

void MemifHandshake::init(const memif::Init& said) {
  if (id_) throw MemifRefusal("INIT came twice");
  if (said.version != memif::kVersion)
    throw MemifRefusal("version " + number(said.version >> 8) + "." + number(said.version & 0xFF) +
                       "; the switch speaks memif 2.0");
  if (said.mode != 0) throw MemifRefusal("mode " + number(said.mode) + "; the switch has Ethernet");
  const auto door = find_(said.id);
  if (!door) throw MemifRefusal(said.id == memif::kAnyId ? "No port is free" : "ID not found");
  if (door->settings->secret != said.secret) throw MemifRefusal("Incorrect secret");
  if (door->taken) throw MemifRefusal("Already connected");
  id_ = door->settings->id;
  const std::string_view name(said.name.data(), ::strnlen(said.name.data(), said.name.size()));
  const bool takes_unchecked = name == memif::kLibraryName;
  by_library_ = takes_unchecked || name == memif::kOwnName;
  queues_ = door->queues;
  if (!by_library_ || door->switch_ipv4 == 0) return;
  offer_.unchecked = takes_unchecked;
  told_ = {*id_, door->switch_ipv4, door->udp_base_port, std::uint8_t{takes_unchecked}};
}

void MemifHandshake::add_region(const memif::AddRegion& said, worker::FileDescriptor memory) {
  const std::size_t next = offer_.regions.size();
  if (said.index != next || next == kMostRegions)
    throw MemifRefusal("region " + number(said.index) + "; there are " + number(next) +
                       " of at most " + number(kMostRegions));
  if (!memory) throw MemifRefusal("region " + number(said.index) + " came without a descriptor");
  offer_.regions.push_back({std::move(memory), said.size_bytes});
}

void MemifHandshake::add_ring(const memif::AddRing& said, worker::FileDescriptor event) {
  const bool to_server = (said.flags & memif::kAddRingClientToServer) != 0;
  auto& rings = to_server ? offer_.to_server : offer_.to_client;
  if (said.index != rings.size() || rings.size() == queues_)
    throw MemifRefusal("ring " + number(said.index) + "; the port has queues: " + number(queues_) +
                       ", and " + number(rings.size()) + " of these rings");
  if (said.log2_size > kMostLog2RingSize)
    throw MemifRefusal("a ring of 2^" + number(said.log2_size) + " descriptors; at most 2^" +
                       number(kMostLog2RingSize) + " are possible");
  // A writer of any other file could be held up for as long as its peer likes.
  if (!event || !is_eventfd(event.get()))
    throw MemifRefusal("ring " + number(said.index) + " came without an eventfd");
  rings.push_back({.region = said.region,
                   .offset = said.offset,
                   .log2_size = said.log2_size,
                   .event = std::move(event)});
}

void MemifHandshake::connect() {
  const std::size_t made = std::min(offer_.to_server.size(), offer_.to_client.size());
  if (made < queues_)
    throw MemifRefusal("the port has queues: " + number(queues_) + ", the client makes " +
                       number(made) + " of these rings");
  complete_ = true;
}

}  // namespace tributary::dataplane
