// Reads into a device's memory: no CPU looks at the data, so there is no second try here, no store
// and no CRC check. The caller does all three.
#include <algorithm>

#include "pool/loader/session.h"

namespace tributary::pool {

DeviceReads Session::read_into_device(std::span<const std::uint64_t> ids,
                                      std::span<const std::span<std::byte>> targets) {
  DeviceReads reads(ids.size());
  begin();
  items_.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    items_.push_back({ids[i], targets[i].first(manifest_.source(ids[i]).length), {}, 0, 0, false});
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto at = table_.find(items_[i].id);
    if (!at || !nodes_[at->node].up() || !nodes_[at->node].reader->reaches(items_[i].target))
      continue;
    items_[i].at = *at;
    enqueue(at->node, i);
  }
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
  if (const auto known = table_.find(item.id); known && *known == item.at) table_.forget(item.id);
  ++counters_.stale;
}

}  // namespace tributary::pool
