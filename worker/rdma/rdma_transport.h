// Transport over RDMA: SENDs on a UD queue pair, through whatever RDMA device the kernel routes the
// switch's address by.
//
//   send()     copies into a registered slot ─▶ the device; completions free slots
//   receive()  completions ─▶ checked ─▶ delivered from the registered buffer, which is posted
//   again wait()     arms the completion queue, then sleeps: no CPU while idle
//
// The device checks the ICRC, so a CRC32C is checked only where a packet has one. Packets from
// other queue pairs or addresses than the switch's are dropped and counted. A full send queue, or a
// packet that no receive buffer was there for, is loss like any other: the session resends. A work
// completion in error is the end: the queue pair only flushes from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/net/roce.h"
#include "worker/rdma/ud_connection.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

class RdmaTransport final : public Transport {
 public:
  RdmaTransport(const UdTarget& target, const Patience& patience,
                const VerbsLibrary& verbs = VerbsLibrary::get());
  ~RdmaTransport() override;

  void on_start(const wire::StartInfo& info) override;
  std::size_t send(std::span<const Datagram> batch) override;
  std::size_t receive(const Receiver& receiver) override;
  void wait(Duration limit) override;
  void wake() override;
  [[nodiscard]] std::size_t max_datagram_bytes() const override {
    return ud_.path_mtu() - wire::kRoceLeadBytes;
  }
  [[nodiscard]] std::string failure() const override { return failure_; }
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override;

 private:
  static constexpr std::size_t kBurst = 64;
  static constexpr UdDepths kDepths{.sends = 512, .receives = 2048};

  [[nodiscard]] std::byte* send_slot(std::size_t slot) {
    return memory_.get() + slot * slot_bytes_;
  }
  [[nodiscard]] std::byte* receive_slot(std::size_t slot) {
    return send_slot(kDepths.sends + slot);
  }
  void post_receive(std::size_t slot);
  void free_slots();
  void note_error(const ibv_wc& completion, const char* what);
  bool post(const Datagram& datagram);
  void deliver(const ibv_wc& completion, const Receiver& receiver);
  // Arms the completion queues; false: something completed meanwhile.
  bool arm();

  UdTarget target_;
  UdConnection ud_;
  std::size_t slot_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  ibv_mr* registered_ = nullptr;
  std::vector<std::uint32_t> free_;  // send slots
  std::vector<ibv_wc> ready_;        // completions that arm() has found
  bool send_blocked_ = false;        // the last send() met a full queue
  FileDescriptor wake_;
  std::string failure_;
  bool has_woken_for_failure_ = false;  // a wait() has returned early for it
  DropCounters drops_;
};

// "rdma://SWITCH_IPV4[:BASE_PORT]".
inline constexpr const char* kRdmaScheme = "rdma://";

}  // namespace tributary::worker
