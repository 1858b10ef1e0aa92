// The memif protocol, version 2.0, as bytes: control messages on a SOCK_SEQPACKET unix socket, and
// rings of descriptors in shared memory. Public format of FD.io's memif, which DPDK's net_memif
// documents and speaks; native byte order.
//
// The client allocates the memory and describes it; either side moves only "its" index of a ring:
//
//   ring            | head (buffers offered up to here) | tail (buffers finished up to here)
//   client → server | client: frames written            | server: frames read
//   server → client | client: empty buffers offered     | server: frames written
//
// Both indices count up and wrap at 2^16; the descriptor is index mod ring size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::worker::memif {

inline constexpr std::uint16_t kVersion = 0x0200;
// The switch's name, and the library's before it took packets without checksums.
inline constexpr std::string_view kOwnName = "tributary";
// The library's name: it takes packets of the switch that have no checksum.
inline constexpr std::string_view kLibraryName = "tributary unchecked";
inline constexpr std::uint32_t kRingCookie = 0x3E31F20;
// The library asks the switch for any interface that is free. A server of others has none of this
// id.
inline constexpr std::uint32_t kAnyId = 0xFFFFFFFF;

enum class MessageType : std::uint16_t {
  none = 0,
  ack = 1,         // both ways: previous message accepted; after INIT, Told
  hello = 2,       // server: its limits
  init = 3,        // client: which interface
  add_region = 4,  // client: shared memory, with its descriptor
  add_ring = 5,    // client: a ring in it, with its eventfd
  connect = 6,     // client: done
  connected = 7,   // server: go
  disconnect = 8,  // both ways: why it ends
  // This project's: memory with results (memif_results.h), with its descriptor, to a client that
  // takes packets unchecked. Acknowledged with the region's number when it is mapped.
  share = 100,
};

// From here on packed: fields are at the protocol's offsets, without alignment.
#pragma pack(push, 1)
struct Hello {
  std::array<char, 32> name;
  std::uint16_t min_version, max_version;
  std::uint16_t max_region;  // highest index, as the next two
  std::uint16_t max_server_to_client_ring;
  std::uint16_t max_client_to_server_ring;
  std::uint8_t max_log2_ring_size;
};
struct Init {
  std::uint16_t version;
  std::uint32_t id;
  std::uint8_t mode;  // 0: Ethernet
  std::array<char, 24> secret;
  std::array<char, 32> name;
};
struct AddRegion {
  std::uint16_t index;
  std::uint64_t size_bytes;
};
struct AddRing {
  std::uint16_t flags;  // 1: client to server
  std::uint16_t index;
  std::uint16_t region;
  std::uint32_t offset;
  std::uint8_t log2_size;
  std::uint16_t private_header_bytes;
};
struct Connect {
  std::array<char, 32> interface_name;
};
struct Disconnect {
  std::uint32_t code;
  std::array<char, 96> text;
};
struct Share {
  std::uint32_t region;  // its number in the switch's process
  std::uint32_t slot_bytes;
  std::uint32_t slots;
};
// The payload of the acknowledgement of INIT; all zero from other servers.
struct Told {
  std::uint32_t id;           // of the interface
  std::uint32_t switch_ipv4;  // host order; 0: not told
  std::uint16_t udp_base_port;
  std::uint8_t unchecked;  // 1: packets between the two have no checksum (rule 18)
};
struct Message {
  MessageType type;
  union {
    Told told;
    Hello hello;
    Init init;
    AddRegion add_region;
    AddRing add_ring;
    Connect connect;
    Disconnect disconnect;
    Share share;
    std::array<std::byte, 126> raw;
  };
};
#pragma pack(pop)
static_assert(sizeof(Hello) == 43 && sizeof(Init) == 63 && sizeof(AddRegion) == 10);
static_assert(sizeof(AddRing) == 13 && sizeof(Disconnect) == 100 && sizeof(Message) == 128);

inline constexpr std::uint16_t kAddRingClientToServer = 1;
inline constexpr std::uint16_t kDescriptorNext = 1;    // frame continues in the next one
inline constexpr std::uint16_t kRingNoInterrupts = 1;  // consumer polls: don't write the eventfd

struct Descriptor {
  std::uint16_t flags;
  std::uint16_t region;
  std::uint32_t length;  // offered: room; filled: bytes of the frame
  std::uint32_t offset;  // of the buffer in its region
  std::uint32_t metadata;
};
static_assert(sizeof(Descriptor) == 16);

// Followed by its descriptors. Writers and readers of head, tail and flags are two processes.
struct alignas(64) RingHeader {
  std::uint32_t cookie;
  std::uint16_t flags;             // written by the consumer of the ring's frames
  std::uint16_t head;              // written by the client
  alignas(64) std::uint16_t tail;  // written by the server
};
static_assert(sizeof(RingHeader) == 128);

}  // namespace tributary::worker::memif
