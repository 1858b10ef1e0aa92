#include "pool/store/record_reader.h"

namespace tributary::pool {

void RecordReader::read(std::uint32_t shard, std::uint64_t offset, std::span<std::byte> out) {
  const Shard& its = manifest_.shards()[shard];
  const StoreObject object{its.name, its.bytes, its.version};
  retry_.run(its.name, seed_ ^ (std::uint64_t{shard} << 32) ^ offset,
             [&] { store_->read(object, offset, out); });
  counters_.bytes.fetch_add(out.size(), std::memory_order_relaxed);
}

}  // namespace tributary::pool
