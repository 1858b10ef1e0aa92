// The properties of each kind of port, one row for each DPDK driver: its names, its arguments, the
// kernel objects that it opens, and the limits that DPDK 22.11 does not report.
//
// All code that treats kinds of ports differently reads it; no other code compares driver names.
// Data only: no device is opened here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tributary::config {

struct Devargs;

// How a device uses the kernel interface that its arguments name.
enum class Binding : std::uint8_t {
  none,
  opens,    // an interface that exists, and that may be removed
  creates,  // the driver creates it, and removes it with the device
};

// Objects that a device claims exclusively; see config/plan/device_claims.h.
enum class Claiming : std::uint8_t { none, socket, socket_and_id, interface, interface_queues };

// The driver's own frame buffers, whose size the argument `key` gives.
struct FrameRoom {
  std::string_view key = {};   // empty: as long as the packet buffers
  std::size_t fallback = 0;    // without the argument
  std::size_t overhead = 0;    // bytes of these in front of the frame
  bool fills_buffers = false;  // the packet buffers must be as long
};

// An argument that must have one value, which is also the driver's default.
struct FixedArgument {
  std::string_view key = {};  // empty: none
  std::string_view value = {};
  std::string_view why = {};
};

struct PortKind {
  // The driver: net_memif; empty for a network card. `words`: beginnings of a device's name.
  std::string_view driver = {};
  std::array<std::string_view, 2> words = {};
  // Empty: arguments are not checked.
  std::span<const std::string_view> keys = {};

  Binding binding = Binding::none;  // to the interface called iface=
  bool needs_interface = false;     // iface= is not optional
  Claiming claims = Claiming::none;

  std::size_t most_mtu = 0;  // 0: no limit
  std::string_view most_mtu_why = {};
  std::size_t headroom = 0;  // bytes that the kernel keeps in front of each frame
  FrameRoom room = {};
  FixedArgument demand = {};

  bool card = false;
  bool memif = false;  // a server or a client, by role=
  bool vhost = false;  // a server, unless client=1
  // The peer owns memory that bursts touch (dataplane/port/fault_guard.h).
  bool shares_memory = false;
  // Buffers that the driver takes for each receive queue, and never gives back. Such a port has a
  // pool of its own, which goes with it.
  std::size_t fill_buffers = 0;
  // The socket receives from all interfaces until it is bound to its own.
  bool hears_others_first = false;

  // The usual cause if a device cannot be created; {} stands for the interface or socket.
  std::string_view hint = {};
};

// All kinds that the switch knows.
std::span<const PortKind> port_kinds();
// The row for "net_memif0" or "0000:01:00.0"; an unknown driver gets a row without properties.
const PortKind& kind_of_device(std::string_view device);

// An argument that the driver does not have, with the nearest that it has; empty: all are valid.
std::string wrong_key(const Devargs& device);
// A warning if no row has the driver, with the nearest name; empty if it is known.
std::string unknown_driver(const Devargs& device);

}  // namespace tributary::config
