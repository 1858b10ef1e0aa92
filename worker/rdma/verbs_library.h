// rdma-core's libraries, loaded when the first rdma:// address is dialled: hosts without RDMA need
// not have them. Functions that rdma-core defines in its headers are called as they are.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace tributary::worker {

// X(library, function)
#define TRIBUTARY_VERBS(X)              \
  X(rdmacm, rdma_create_event_channel)  \
  X(rdmacm, rdma_destroy_event_channel) \
  X(rdmacm, rdma_create_id)             \
  X(rdmacm, rdma_destroy_id)            \
  X(rdmacm, rdma_resolve_addr)          \
  X(rdmacm, rdma_resolve_route)         \
  X(rdmacm, rdma_create_qp)             \
  X(rdmacm, rdma_destroy_qp)            \
  X(rdmacm, rdma_connect)               \
  X(rdmacm, rdma_get_cm_event)          \
  X(rdmacm, rdma_ack_cm_event)          \
  X(rdmacm, rdma_event_str)             \
  X(ibverbs, ibv_create_comp_channel)   \
  X(ibverbs, ibv_destroy_comp_channel)  \
  X(ibverbs, ibv_create_cq)             \
  X(ibverbs, ibv_destroy_cq)            \
  X(ibverbs, ibv_get_cq_event)          \
  X(ibverbs, ibv_ack_cq_events)         \
  X(ibverbs, ibv_reg_mr)                \
  X(ibverbs, ibv_dereg_mr)              \
  X(ibverbs, ibv_create_ah)             \
  X(ibverbs, ibv_destroy_ah)            \
  X(ibverbs, ibv_query_port)            \
  X(ibverbs, ibv_wc_status_str)

struct VerbsLibrary {
#define X(library, function) decltype(&::function) function##_ = nullptr;
  TRIBUTARY_VERBS(X)
#undef X

  // Throws std::runtime_error that names the library, or the function that it lacks.
  static const VerbsLibrary& get();
};

}  // namespace tributary::worker
