#include "dataplane/rdma/connected/unreliable_side.h"

namespace tributary::dataplane {

void UnreliableSide::start(std::uint32_t psn, std::uint32_t path_mtu) {
  *this = {};
  expected_ = psn & wire::kMaxQpn;
  message_ = WriteMessage(path_mtu);
}

UnreliableSide::Step UnreliableSide::look(const wire::RoceView& view,
                                          const WindowTerms& terms) const {
  const std::int32_t ahead = psn_diff(view.bth.psn, expected_);
  if (ahead < 0) return {What::duplicate};
  if (!is_write(operation_of(view))) return {What::invalid_request};
  if (!view.shape.reth && (!message_.is_open() || ahead > 0)) return {What::gap};
  return message_.look(view, terms);
}

void UnreliableSide::taken(const wire::RoceView& view, std::uint64_t address) {
  message_.taken(view, address);
  expected_ = psn_after(view.bth.psn);
}

void UnreliableSide::discard(const wire::RoceView& view, What what) {
  message_.discard();
  if (what != What::gap) expected_ = psn_after(view.bth.psn);
}

}  // namespace tributary::dataplane
