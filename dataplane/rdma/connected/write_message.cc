#include "dataplane/rdma/connected/write_message.h"

namespace tributary::dataplane {

RequestStep WriteMessage::look(const wire::RoceView& view, const WindowTerms& terms) const {
  using enum RequestKind;
  const bool begins = view.shape.reth;
  const std::size_t bytes = view.payload.size();
  const std::uint32_t left = begins ? view.reth.length : left_;
  const bool fits = ends_write(operation_of(view)) ? bytes == left && bytes <= path_mtu_
                                                   : bytes == path_mtu_ && bytes < left;
  if (!fits || (!begins && bytes == 0)) return {invalid_request};
  if (left == 0) return {nothing};
  if (!begins) return {write, next_address_};
  if (view.reth.rkey != terms.rkey || !terms.contains(view.reth.address, left))
    return {access_error};
  return {write, view.reth.address};
}

void WriteMessage::taken(const wire::RoceView& view, std::uint64_t address) {
  const auto bytes = static_cast<std::uint32_t>(view.payload.size());
  left_ = (view.shape.reth ? view.reth.length : left_) - bytes;
  next_address_ = address + bytes;
  open_ = !ends_write(operation_of(view));
}

}  // namespace tributary::dataplane
