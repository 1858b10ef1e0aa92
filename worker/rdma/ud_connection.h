// A UD queue pair of this process and the address of the switch's, set up by rdma_cm:
//
//   resolve address ─▶ resolve route ─▶ create the queue pair ─▶ SIDR_REQ with job and rank
//                                         ◀─ SIDR_REP: the switch's queue pair and its Q_Key
//
// RAII over rdma-core's objects. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "worker/rdma/verbs_library.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

struct UdTarget {
  std::uint32_t ipv4 = 0;  // of the switch, host order
  std::uint16_t port = 0;  // its first UDP port, which names rdma_cm's service
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
};
struct UdDepths {
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
};

class UdConnection {
 public:
  // Throws std::runtime_error that says which step failed, or ConnectCancelled.
  UdConnection(const UdTarget& target, const UdDepths& depths, const Patience& patience,
               const VerbsLibrary& verbs);
  ~UdConnection();
  UdConnection(const UdConnection&) = delete;
  UdConnection& operator=(const UdConnection&) = delete;

  [[nodiscard]] const VerbsLibrary& library() const { return verbs_; }
  [[nodiscard]] ibv_qp* queue_pair() const { return id_->qp; }
  [[nodiscard]] ibv_pd* domain() const { return id_->pd; }
  [[nodiscard]] ibv_cq* sends() const { return send_cq_; }
  [[nodiscard]] ibv_cq* receives() const { return receive_cq_; }
  [[nodiscard]] ibv_comp_channel* events() const { return completions_; }
  // The switch's end.
  [[nodiscard]] ibv_ah* address() const { return address_; }
  [[nodiscard]] std::uint32_t remote_qpn() const { return remote_qpn_; }
  [[nodiscard]] std::uint32_t remote_qkey() const { return remote_qkey_; }
  // Payload of a packet.
  [[nodiscard]] std::uint32_t path_mtu() const { return path_mtu_; }
  [[nodiscard]] std::string device() const;

 private:
  // Waits for the event that a step ends with.
  rdma_cm_event* next_event(const char* step, const Patience& patience);
  rdma_cm_event* await(rdma_cm_event_type wanted, const char* step, const Patience& patience);
  void resolve_address(const UdTarget& target, const Patience& patience);
  void resolve(const UdTarget& target, const Patience& patience);
  void create(const UdDepths& depths);
  void connect(const UdTarget& target, const Patience& patience);
  void learn_path_mtu();
  void release();

  const VerbsLibrary& verbs_;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* send_cq_ = nullptr;
  ibv_cq* receive_cq_ = nullptr;
  ibv_ah* address_ = nullptr;
  std::uint32_t remote_qpn_ = 0;
  std::uint32_t remote_qkey_ = 0;
  std::uint32_t path_mtu_ = 0;
};

}  // namespace tributary::worker
