// Reads into a device's memory: no CPU looks at the data, so there is no second try here, no store
// and no CRC check. The caller does all three.
#include <algorithm>

#include "pool/loader/session.h"

namespace tributary::pool {

DeviceReads Session::read_into_device(std::span<const std::uint64_t> ids,
                                      std::span<const std::span<std::byte>> targets) {
  DeviceReads reads(ids.size());
  const Batch batch(keeper_);
  begin(ids, targets);
  keeper_.find_all(
      items_.size(), [&](std::size_t i) { return items_[i].id; },
      [&](std::size_t i, const std::optional<Location>& at) {
        if (!at || !nodes_[at->node].up() || !nodes_[at->node].reader->reaches(items_[i].target))
          return;
        items_[i].at = *at;
        enqueue(at->node, i);
      });
  for (Node& node : nodes_) std::reverse(node.waiting.begin(), node.waiting.end());
  in_device_ = &reads;
  read_from_pool();
  in_device_ = nullptr;
  return reads;
}

void Session::finish_in_device(const Item& item, const RecordHeader& header, bool expected) {
  if (expected) {
    (*in_device_)[static_cast<std::size_t>(&item - items_.data())] = header.data_crc;
    ++counters_.hits;
    counters_.pool_bytes += item.target.size();
    return;
  }
  keeper_.forget(item.id, item.at, nodes_[item.at.node].serial);
  ++counters_.stale;
}

}  // namespace tributary::pool
