// What the switch knows of each kind of port, one row a DPDK driver: its names, its arguments, what
// it opens of the kernel, and the limits that DPDK 22.11 does not report.
//
// Read by everything that treats kinds of ports differently; nothing else compares driver names.
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

// What a device has to do with the interface of the kernel that its arguments name.
enum class Binding : std::uint8_t {
  none,
  opens,    // an interface that others made, and may remove
  creates,  // the driver makes it, and it goes with the device
};

// What a device takes for itself alone; see config/plan/device_claims.h.
enum class Claiming : std::uint8_t { none, socket, socket_and_id, interface, interface_queues };

// The driver's own buffers for frames, whose size the argument `key` gives.
struct FrameRoom {
  std::string_view key = {};   // empty: as long as the packet buffers
  std::size_t fallback = 0;    // without the argument
  std::size_t overhead = 0;    // of these bytes, in front of the frame
  bool fills_buffers = false;  // the packet buffers must be as long
};

// An argument that must have one value, which is also the driver's own.
struct FixedArgument {
  std::string_view key = {};  // empty: none
  std::string_view value = {};
  std::string_view why = {};
};

struct PortKind {
  // net_memif; empty: a network card. `words`: what a device's name begins with.
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
  bool memif = false;  // a server or a client, as role= says
  bool vhost = false;  // a server, unless client=1
  // The peer owns memory that bursts touch (dataplane/port/fault_guard.h).
  bool shares_memory = false;
  // The socket hears all interfaces until it is bound to its own.
  bool hears_others_first = false;

  // What usually is wrong where a device cannot be created; {} stands for the interface or socket.
  std::string_view hint = {};
};

// Those that the switch knows.
std::span<const PortKind> port_kinds();
// The row for "net_memif0" or "0000:01:00.0"; an unknown driver gets one without traits.
const PortKind& kind_of_device(std::string_view device);

// An argument that the driver does not have, with the nearest that it has; empty: all are good.
std::string wrong_key(const Devargs& device);
// A warning where no row has the driver, with the nearest name; empty: it is known.
std::string unknown_driver(const Devargs& device);

}  // namespace tributary::config
