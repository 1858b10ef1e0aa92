#include "dataplane/rdma/cm_responder.h"

namespace tributary::dataplane {

wire::SidrReply CmResponder::answer(const wire::SidrRequest& request,
                                    const QueuePairs& pairs) const {
  wire::SidrReply reply{.transaction = request.transaction,
                        .id = request.id,
                        .status = wire::SidrStatus::no_service,
                        .service = request.service};
  if (request.service != service_) return reply;
  wire::RankRequest place;
  reply.status = wire::SidrStatus::rejected;
  if (!wire::parse_rank_request(request.data, place)) return reply;
  const QueuePair* const pair = pairs.of_job(place.job);
  if (pair == nullptr) {
    reply.status = wire::SidrStatus::no_queue_pair;
    return reply;
  }
  if (place.rank >= pair->workers) return reply;
  reply.status = wire::SidrStatus::valid;
  reply.qpn = pair->qpn;
  reply.qkey = wire::kRdmaCmQkey;
  reply.data = request.data.first(wire::RankRequest::kBytes);
  return reply;
}

}  // namespace tributary::dataplane
