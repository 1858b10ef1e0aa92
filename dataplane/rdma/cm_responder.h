// The switch's end of rdma_cm for UD queue pairs: answers a SIDR_REQ with the queue pair of the job
// that the request's private data names, or says why there is none.
//
// Stateless: the rank takes its place with JOIN, as over UDP. Pure.
#pragma once

#include <cstdint>

#include "config/model/switch_config.h"
#include "core/net/sidr.h"
#include "dataplane/rdma/queue_pairs.h"

namespace tributary::dataplane {

class CmResponder {
 public:
  explicit CmResponder(const config::SwitchConfig& config)
      : service_(wire::rdma_cm_service(config.udp_base_port)) {}

  // A valid reply has the data of the request, which it points into.
  [[nodiscard]] wire::SidrReply answer(const wire::SidrRequest& request,
                                       const QueuePairs& pairs) const;

 private:
  std::uint64_t service_;
};

}  // namespace tributary::dataplane
