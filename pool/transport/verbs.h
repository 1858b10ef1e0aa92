// RC READ by librdmacm and libibverbs: the loader's device reads the node's memory without the
// node's CPU. For verbs_server.cc, verbs_reader.cc and choose.cc.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <memory>
#include <string>

#include "pool/transport/transport.h"

namespace tributary::pool {

struct EventChannelClose {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
using EventChannel = std::unique_ptr<rdma_event_channel, EventChannelClose>;
struct IdDestroy {
  // Destroys the queue pair first, if there is one.
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    rdma_destroy_id(id);
  }
};
using CmId = std::unique_ptr<rdma_cm_id, IdDestroy>;
struct VerbsFree {
  void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
  void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
  void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
  void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
};
template <typename T>
using VerbsPtr = std::unique_ptr<T, VerbsFree>;

// A secret behind the node's address, which a reader's request to connect has to bear.
using Ticket = std::array<std::byte, 16>;

// Throws TransportError: "WHAT: errno's text".
[[noreturn]] void fail_verbs(const std::string& what);

// True if an RDMA device has this address.
bool verbs_has(const std::string& host);
std::unique_ptr<MemoryServer> serve_by_verbs(const std::string& host, const LocalMemory& memory);
std::unique_ptr<ReadDomain> make_verbs_domain();

}  // namespace tributary::pool
