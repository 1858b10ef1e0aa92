#include "dataplane/rdma/connected/receive_side.h"

namespace tributary::dataplane {

void ReceiveSide::start(std::uint32_t psn, std::uint32_t path_mtu) {
  *this = {};
  expected_ = psn & wire::kMaxQpn;
  message_ = WriteMessage(path_mtu);
}

ReceiveSide::Step ReceiveSide::look(const wire::RoceView& view, const WindowTerms& terms) const {
  const std::int32_t ahead = psn_diff(view.bth.psn, expected_);
  if (ahead < 0) return {What::duplicate};
  if (ahead > 0) return {asked_ ? What::waiting : What::gap};
  if (!is_write(operation_of(view)) || view.shape.reth == message_.is_open())
    return {What::invalid_request};
  return message_.look(view, terms);
}

void ReceiveSide::taken(const wire::RoceView& view, std::uint64_t address) {
  message_.taken(view, address);
  if (!message_.is_open()) messages_ = psn_after(messages_);
  expected_ = psn_after(expected_);
  asked_ = false;
}

}  // namespace tributary::dataplane
