// rdma-core with one device and no hardware: the functions that the library calls, over queues in
// memory. The switch's end is the test's; it makes the queue pair break.
//
// One at a time: rdma-core's functions have no place for a context, so they use the latest one.
#pragma once

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "core/net/roce.h"
#include "worker/rdma/verbs_library.h"

namespace tributary::worker {

class FakeDevice {
 public:
  static constexpr std::uint32_t kQpn = 17;
  static constexpr std::uint32_t kSwitchQpn = 0x800001;
  static constexpr std::uint32_t kSwitchIpv4 = 0x0A4D00FE;

  FakeDevice() {
    current() = this;
    std::strcpy(device_.name, "fake0");
    context_.device = &device_;
    context_.ops.poll_cq = [](ibv_cq* cq, int most, ibv_wc* into) {
      return current()->poll(cq, most, into);
    };
    context_.ops.req_notify_cq = [](ibv_cq*, int) { return 0; };
    context_.ops.post_send = [](ibv_qp*, ibv_send_wr* work, ibv_send_wr**) {
      return current()->post_send(*work);
    };
    context_.ops.post_recv = [](ibv_qp*, ibv_recv_wr* work, ibv_recv_wr**) {
      return current()->post_receive(*work);
    };
    events_.fd = ::eventfd(0, EFD_NONBLOCK);
    completions_.fd = ::eventfd(0, EFD_NONBLOCK);
    pair_.qp_num = kQpn;
    pair_.context = &context_;
    region_.lkey = 1;
  }
  ~FakeDevice() {
    ::close(events_.fd);
    ::close(completions_.fd);
    current() = nullptr;
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  [[nodiscard]] VerbsLibrary library() const;

  // A packet of the switch arrives.
  void arrive(std::span<const std::byte> packet) {
    const Buffer to = receives_.front();
    receives_.pop_front();
    auto* const at = reinterpret_cast<std::byte*>(to.address);
    std::memset(at, 0, wire::kGrhBytes + wire::kRoceLeadBytes);
    const std::uint32_t source = htonl(kSwitchIpv4);
    std::memcpy(at + 20 + 12, &source, sizeof source);
    std::memcpy(at + wire::kGrhBytes + wire::kRoceLeadBytes, packet.data(), packet.size());
    ibv_wc done = completion(to.id, IBV_WC_SUCCESS);
    done.byte_len =
        static_cast<std::uint32_t>(wire::kGrhBytes + wire::kRoceLeadBytes + packet.size());
    done.src_qp = kSwitchQpn;
    done_[&receive_queue_].push_back(done);
  }
  // The next send ends so, and the queue pair is in error from then on.
  void break_at_send(ibv_wc_status status) { send_status_ = status; }
  // The same, but its receives go on: the state SQE of a UD queue pair (IBA volume 1, 10.3.1).
  void break_sends_alone(ibv_wc_status status) {
    break_at_send(status);
    receives_go_on_ = true;
  }
  // A receive ends so.
  void break_receive(ibv_wc_status status) {
    const Buffer first = receives_.front();
    receives_.pop_front();
    done_[&receive_queue_].push_back(completion(first.id, status));
    flush();
  }
  [[nodiscard]] std::size_t receives_posted() const { return receives_posted_; }
  // The packets that were sent.
  std::vector<std::vector<std::byte>> take_sent() { return std::exchange(sent_, {}); }

 private:
  struct Buffer {
    std::uint64_t id = 0;
    std::uintptr_t address = 0;
  };
  static FakeDevice*& current() {
    static FakeDevice* device = nullptr;
    return device;
  }
  static ibv_wc completion(std::uint64_t id, ibv_wc_status status) {
    ibv_wc done{};
    done.wr_id = id;
    done.status = status;
    return done;
  }
  void flush() {
    broken_ = true;
    if (receives_go_on_) return;
    for (const Buffer& buffer : receives_)
      done_[&receive_queue_].push_back(completion(buffer.id, IBV_WC_WR_FLUSH_ERR));
    receives_.clear();
  }
  int poll(ibv_cq* cq, int most, ibv_wc* into) {
    std::deque<ibv_wc>& queue = done_[cq];
    const auto count = std::min<std::size_t>(queue.size(), static_cast<std::size_t>(most));
    std::copy_n(queue.begin(), count, into);
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<int>(count);
  }
  int post_receive(const ibv_recv_wr& work) {
    ++receives_posted_;
    receives_.push_back({work.wr_id, work.sg_list->addr});
    if (broken_) flush();
    return 0;
  }
  int post_send(const ibv_send_wr& work) {
    const auto* const from = reinterpret_cast<const std::byte*>(work.sg_list->addr);
    if (!broken_ && send_status_ == IBV_WC_SUCCESS)
      sent_.emplace_back(from + wire::kRoceLeadBytes, from + work.sg_list->length);
    const ibv_wc_status status = broken_ ? IBV_WC_WR_FLUSH_ERR : send_status_;
    done_[&send_queue_].push_back(completion(work.wr_id, status));
    if (status != IBV_WC_SUCCESS && !broken_) flush();
    return 0;
  }
  int tell(rdma_cm_event_type type) {
    rdma_cm_event event{};
    event.event = type;
    event.param.ud.qp_num = kSwitchQpn;
    set_up_.push_back(event);
    return 0;
  }
  // The send queue is the first that is made.
  ibv_cq* make_queue() {
    ibv_cq& queue = queues_made_++ == 0 ? send_queue_ : receive_queue_;
    queue.context = &context_;
    return &queue;
  }
  int make_pair() {
    id_.qp = &pair_;
    id_.pd = &domain_;
    return 0;
  }

  ibv_device device_{};
  ibv_context context_{};
  rdma_event_channel events_{};
  rdma_cm_id id_{};
  ibv_comp_channel completions_{};
  ibv_pd domain_{};
  ibv_cq send_queue_{};
  ibv_cq receive_queue_{};
  ibv_qp pair_{};
  ibv_mr region_{};
  ibv_ah address_{};
  int queues_made_ = 0;
  std::deque<rdma_cm_event> set_up_;
  std::map<ibv_cq*, std::deque<ibv_wc>> done_;
  std::deque<Buffer> receives_;
  std::size_t receives_posted_ = 0;
  std::vector<std::vector<std::byte>> sent_;
  ibv_wc_status send_status_ = IBV_WC_SUCCESS;
  bool broken_ = false;
  bool receives_go_on_ = false;
};

inline VerbsLibrary FakeDevice::library() const {
  VerbsLibrary all;
  all.rdma_create_event_channel_ = [] { return &current()->events_; };
  all.rdma_destroy_event_channel_ = [](rdma_event_channel*) {};
  all.rdma_create_id_ = [](rdma_event_channel*, rdma_cm_id** id, void*, rdma_port_space) {
    current()->id_.verbs = &current()->context_;
    *id = &current()->id_;
    return 0;
  };
  all.rdma_destroy_id_ = [](rdma_cm_id*) { return 0; };
  all.rdma_resolve_addr_ = [](rdma_cm_id*, sockaddr*, sockaddr*, int) {
    return current()->tell(RDMA_CM_EVENT_ADDR_RESOLVED);
  };
  all.rdma_resolve_route_ = [](rdma_cm_id*, int) {
    return current()->tell(RDMA_CM_EVENT_ROUTE_RESOLVED);
  };
  all.rdma_create_qp_ = [](rdma_cm_id*, ibv_pd*, ibv_qp_init_attr*) {
    return current()->make_pair();
  };
  all.rdma_destroy_qp_ = [](rdma_cm_id*) {};
  all.rdma_connect_ = [](rdma_cm_id*, rdma_conn_param*) {
    return current()->tell(RDMA_CM_EVENT_ESTABLISHED);
  };
  all.rdma_get_cm_event_ = [](rdma_event_channel*, rdma_cm_event** event) {
    if (current()->set_up_.empty()) {
      errno = EAGAIN;
      return -1;
    }
    *event = &current()->set_up_.front();
    return 0;
  };
  all.rdma_ack_cm_event_ = [](rdma_cm_event*) {
    current()->set_up_.pop_front();
    return 0;
  };
  all.rdma_event_str_ = [](rdma_cm_event_type) { return "an event"; };
  all.ibv_create_comp_channel_ = [](ibv_context*) { return &current()->completions_; };
  all.ibv_destroy_comp_channel_ = [](ibv_comp_channel*) { return 0; };
  all.ibv_create_cq_ = [](ibv_context*, int, void*, ibv_comp_channel*, int) {
    return current()->make_queue();
  };
  all.ibv_destroy_cq_ = [](ibv_cq*) { return 0; };
  all.ibv_get_cq_event_ = [](ibv_comp_channel*, ibv_cq**, void**) { return -1; };
  all.ibv_ack_cq_events_ = [](ibv_cq*, unsigned) {};
  all.ibv_reg_mr_ = [](ibv_pd*, void*, std::size_t, int) { return &current()->region_; };
  all.ibv_dereg_mr_ = [](ibv_mr*) { return 0; };
  all.ibv_create_ah_ = [](ibv_pd*, ibv_ah_attr*) { return &current()->address_; };
  all.ibv_destroy_ah_ = [](ibv_ah*) { return 0; };
  all.ibv_query_port_ = [](ibv_context*, std::uint8_t, _compat_ibv_port_attr* into) {
    reinterpret_cast<ibv_port_attr*>(into)->active_mtu = IBV_MTU_1024;
    return 0;
  };
  all.ibv_wc_status_str_ = [](ibv_wc_status status) {
    return status == IBV_WC_WR_FLUSH_ERR ? "flushed" : "a local error";
  };
  return all;
}

}  // namespace tributary::worker
