// A memif server as a real switch has it, in this process: answers ARP and returns every
// aggregation packet, to its sender or to a group.
//
// One thread polls; the other members are for the test's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/net/frame.h"
#include "dataplane/memif/memif_port.h"

struct rte_mempool;
struct rte_mbuf;

namespace tributary::testing {

class EchoSwitch {
 public:
  static constexpr std::uint32_t kIp = 0x0A4D00FE;  // 10.77.0.254
  static constexpr wire::MacAddress kMac = {0x02, 0xAB, 0xCD, 0x00, 0x00, 0x01};

  // The port of this process; interface 0 of `socket`, which the first call decides.
  static EchoSwitch& at(const std::string& socket, bool abstract = false);
  // Of packets, for further ports of a test.
  static rte_mempool* pool();
  // Stops polling, and closes the port.
  ~EchoSwitch();
  EchoSwitch(const EchoSwitch&) = delete;
  EchoSwitch& operator=(const EchoSwitch&) = delete;

  // While one of these lives, the switch does not look at its port.
  [[nodiscard]] std::unique_lock<std::mutex> pause() { return std::unique_lock(turn_); }

  // Runs `leave`, which closes the client's end, and returns when the server has seen it.
  void while_client_leaves(const std::function<void()>& leave);

  [[nodiscard]] bool link_up() const { return port_->connected(); }

  // Drops the client, as a switch that is restarted does.
  void restart();
  // Back to the settings below.
  void reset();

  // Whether clients are told where the switch is, from the next restart on.
  std::atomic<bool> tells = false;
  static constexpr std::uint16_t kPort = 47100;

  // How to answer the next packets.
  std::atomic<std::uint32_t> group_ip = 0;  // not 0: answer to this group
  std::atomic<std::uint32_t> answer_from = kIp;
  std::atomic<bool> mark = false;           // what says that its receiver listens meets a queue
  std::atomic<bool> corrupt = false;        // flip a payload bit after the checksum
  std::atomic<std::uint64_t> received = 0;  // aggregation packets
  // Bytes after Ethernet, sent once as they are.
  void inject(const wire::MacAddress& to, std::uint16_t ether_type,
              std::span<const std::byte> body);

 private:
  EchoSwitch(const std::string& socket, bool abstract);
  void open();
  void run();
  void send_injected();
  void answer(std::span<std::byte> frame, std::size_t& length);
  void transmit(rte_mbuf* mbuf);

  std::string devargs_;
  std::unique_ptr<dataplane::MemifPort> port_;
  std::mutex turn_;
  std::atomic<bool> stop_ = false;
  std::mutex injected_lock_;
  std::vector<std::vector<std::byte>> injected_;
  std::thread thread_;
};

}  // namespace tributary::testing
