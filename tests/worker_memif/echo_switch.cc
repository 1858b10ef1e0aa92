#include "tests/worker_memif/echo_switch.h"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "core/net/arp.h"
#include "core/wire/ecn.h"
#include "dataplane/frame/devargs.h"

namespace tributary::testing {
namespace {

constexpr std::uint16_t kBurst = 32;

// EAL exists once per process; it must not keep the test's thread on one CPU.
rte_mempool* packet_pool() {
  static rte_mempool* const pool = [] {
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    std::string prefix = "--file-prefix=memif-test-" + std::to_string(getpid());
    std::array<const char*, 9> args = {"test",        "--no-huge",    "-m",
                                       "128",         "--no-pci",     "--no-telemetry",
                                       "--no-shconf", "--lcores=0@0", prefix.c_str()};
    std::array<char*, 9> argv;
    for (std::size_t i = 0; i < args.size(); ++i) argv[i] = const_cast<char*>(args[i]);
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
      throw std::runtime_error("rte_eal_init failed");
    sched_setaffinity(0, sizeof before, &before);
    return rte_pktmbuf_pool_create("echo", 2047, 0, 0, RTE_PKTMBUF_HEADROOM + 9728, SOCKET_ID_ANY);
  }();
  if (pool == nullptr) throw std::runtime_error("no mbuf pool");
  return pool;
}

}  // namespace

EchoSwitch& EchoSwitch::at(const std::string& socket, bool abstract) {
  static std::map<std::string, std::unique_ptr<EchoSwitch>> all;
  auto& one = all[socket];
  if (!one) one.reset(new EchoSwitch(socket, abstract));
  return *one;
}

rte_mempool* EchoSwitch::pool() {
  return packet_pool();
}

EchoSwitch::EchoSwitch(const std::string& socket, bool abstract) {
  static int made = 0;
  devargs_ = "net_memif" + std::to_string(made++) + ",role=server,id=0,socket=" + socket +
             ",socket-abstract=" + (abstract ? "yes" : "no") + ",rsize=10,bsize=9728";
  open();
  thread_ = std::thread([this] { run(); });
}

EchoSwitch::~EchoSwitch() {
  stop_ = true;
  thread_.join();
}

void EchoSwitch::open() {
  port_.reset();
  port_ = std::make_unique<dataplane::MemifPort>(dataplane::parse_devargs(devargs_));
  if (tells) port_->tell(kIp, kPort);
  port_->open(std::array{packet_pool()});
}

void EchoSwitch::restart() {
  const std::scoped_lock lock(turn_);
  open();
}

void EchoSwitch::reset() {
  group_ip = 0;
  answer_from = kIp;
  mark = false;
  corrupt = false;
  received = 0;
}

void EchoSwitch::while_client_leaves(const std::function<void()>& leave) {
  const std::scoped_lock lock(turn_);
  leave();
  while (link_up()) sched_yield();
}

void EchoSwitch::run() {
  std::array<rte_mbuf*, kBurst> burst;
  while (!stop_) {
    {
      const std::scoped_lock lock(turn_);
      std::uint16_t n = 0;
      port_->receive(0, burst.data(), kBurst, n);
      for (std::uint16_t i = 0; i < n; ++i) {
        std::size_t length = burst[i]->pkt_len;
        answer({rte_pktmbuf_mtod(burst[i], std::byte*), length}, length);
        transmit(burst[i]);
      }
      send_injected();
    }
    sched_yield();
  }
}

// Taken out first: transmit() may have to wait for the test's thread, which may be injecting.
void EchoSwitch::send_injected() {
  std::vector<std::vector<std::byte>> frames;
  {
    const std::scoped_lock lock(injected_lock_);
    frames.swap(injected_);
  }
  for (const auto& frame : frames) {
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(packet_pool());
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(frame.size())), frame.data(),
                frame.size());
    transmit(mbuf);
  }
}

void EchoSwitch::transmit(rte_mbuf* mbuf) {
  std::uint16_t taken = 0;
  while (port_->transmit(0, &mbuf, 1, taken), taken == 0) {
    if (!link_up() || stop_) {
      rte_pktmbuf_free(mbuf);
      return;
    }
    sched_yield();
  }
}

void EchoSwitch::answer(std::span<std::byte> frame, std::size_t& length) {
  const auto eth = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  if (eth.ether_type == wire::kEtherTypeArp) {
    const auto request = wire::parse_arp(eth.payload);
    if (request && request->is_request && request->target_ip == kIp)
      length = wire::write_arp_reply(kMac, *request, frame);
    return;
  }
  const auto udp = *std::get<std::optional<wire::Udp4View>>(wire::parse_udp4(eth.payload));
  ++received;
  const std::uint32_t group = group_ip;
  wire::FrameTemplate t;
  t.source = kMac;
  const auto ecn = std::to_integer<std::uint8_t>(eth.payload[1]);
  t.dscp_ecn = mark && ecn == wire::kEct0 ? wire::kCongestionExperienced : ecn;
  t.destination = group != 0 ? wire::multicast_mac(group) : eth.source;
  t.endpoints = {answer_from, group != 0 ? group : udp.endpoints.source_ip,
                 udp.endpoints.destination_port,
                 group != 0 ? udp.endpoints.destination_port : udp.endpoints.source_port};
  length = wire::write_frame_headers(t, frame, udp.payload.size());
  if (corrupt) frame[length - 1] ^= std::byte{1};
}

void EchoSwitch::inject(const wire::MacAddress& to, std::uint16_t ether_type,
                        std::span<const std::byte> body) {
  std::vector<std::byte> frame(wire::kEthernetBytes + body.size());
  std::memcpy(frame.data(), to.data(), to.size());
  std::memcpy(frame.data() + 6, kMac.data(), kMac.size());
  frame[12] = static_cast<std::byte>(ether_type >> 8);
  frame[13] = static_cast<std::byte>(ether_type & 0xFF);
  std::copy(body.begin(), body.end(), frame.begin() + wire::kEthernetBytes);
  const std::scoped_lock lock(injected_lock_);
  injected_.push_back(std::move(frame));
}

}  // namespace tributary::testing
