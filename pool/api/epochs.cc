// The C interface's amounts without ids: a process's next records in sampler order.
#include <algorithm>
#include <cstring>

#include "pool/api/handle.h"

namespace {

using tributary::pool::Amount;
using tributary::pool::EpochLoader;
using tributary::pool::guard;
using tributary::pool::require;
using tributary::pool::SamplerOptions;
using tributary::pool::Uneven;

Uneven uneven_of(int uneven, bool pad) {
  switch (uneven) {
    case TRIBUTARY_POOL_CONFIGURED: return pad ? Uneven::pad : Uneven::keep;
    case TRIBUTARY_POOL_PAD: return Uneven::pad;
    case TRIBUTARY_POOL_DROP: return Uneven::drop;
    case TRIBUTARY_POOL_KEEP: return Uneven::keep;
  }
  throw std::invalid_argument("epochs.uneven is none of tributary_pool_uneven");
}

SamplerOptions options_of(const tributary_pool& pool, const tributary_pool_epochs* given) {
  tributary_pool_epochs epochs = {sizeof epochs, 0, 0, 1, 0, TRIBUTARY_POOL_CONFIGURED};
  if (given != nullptr) {
    require(given->struct_size >= sizeof(std::size_t), "epochs.struct_size is not set");
    std::memcpy(&epochs, given, std::min(given->struct_size, sizeof epochs));
  }
  return {0,
          epochs.seed,
          epochs.rank,
          epochs.ranks,
          epochs.in_order == 0,
          uneven_of(epochs.uneven, pool.loader.config().load.pad)};
}

// Called with the mutex of the epochs.
EpochLoader& epochs_of(tributary_pool& pool) {
  if (!pool.epochs) pool.epochs.emplace(pool.loader, options_of(pool, nullptr));
  return *pool.epochs;
}

Amount amount_of(const tributary_pool& pool, const char* text) {
  if (text == nullptr) return pool.loader.config().load.amount;
  const auto amount = tributary::pool::parse_amount(text);
  if (!amount)
    throw std::invalid_argument(
        std::string("'") + text +
        "' is no amount; allowed: a number of records, or of KiB, MiB or GiB");
  return *amount;
}

}  // namespace

extern "C" {

tributary_pool_status tributary_pool_start_epochs(tributary_pool* pool,
                                                  const tributary_pool_epochs* epochs) {
  return guard([&] {
    require(pool != nullptr, "pool is NULL");
    const std::lock_guard lock(pool->epochs_mutex);
    pool->epochs.emplace(pool->loader, options_of(*pool, epochs));
  });
}

tributary_pool_status tributary_pool_next(tributary_pool* pool, const char* amount, size_t* count,
                                          size_t* bytes) {
  return guard([&] {
    require(pool != nullptr && count != nullptr && bytes != nullptr,
            "pool, count or bytes are NULL");
    const std::lock_guard lock(pool->epochs_mutex);
    const auto places = epochs_of(*pool).next(amount_of(*pool, amount));
    *count = places.ids.size();
    *bytes = places.bytes;
  });
}

tributary_pool_status tributary_pool_load(tributary_pool* pool, const char* amount, void* target,
                                          size_t bytes, tributary_pool_record* records,
                                          size_t capacity, size_t* count) {
  return guard([&] {
    require(pool != nullptr && count != nullptr, "pool or count are NULL");
    require(target != nullptr || bytes == 0, "target is NULL");
    require(records != nullptr || capacity == 0, "records are NULL");
    *count = 0;
    const std::lock_guard lock(pool->epochs_mutex);
    EpochLoader& epochs = epochs_of(*pool);
    const auto places = epochs.next(amount_of(*pool, amount));
    const std::span<std::byte> buffer(static_cast<std::byte*>(target), bytes);
    if (places.ids.size() > capacity)
      throw std::length_error("the next " + std::to_string(places.ids.size()) +
                              " records do not fit into " + std::to_string(capacity) + " places");
    if (places.bytes <= bytes) {
      for (std::size_t i = 0; i < places.ids.size(); ++i)
        records[i] = {places.ids[i], places.offsets[i], places.lengths[i]};
      *count = places.ids.size();
    }
    epochs.load(places, buffer);
  });
}

tributary_pool_status tributary_pool_get_position(tributary_pool* pool, uint64_t* epoch,
                                                  uint64_t* position) {
  return guard([&] {
    require(pool != nullptr && epoch != nullptr && position != nullptr,
            "pool, epoch or position are NULL");
    const std::lock_guard lock(pool->epochs_mutex);
    const EpochLoader& epochs = epochs_of(*pool);
    *epoch = epochs.epoch();
    *position = epochs.position();
  });
}

tributary_pool_status tributary_pool_set_position(tributary_pool* pool, uint64_t epoch,
                                                  uint64_t position) {
  return guard([&] {
    require(pool != nullptr, "pool is NULL");
    const std::lock_guard lock(pool->epochs_mutex);
    epochs_of(*pool).seek(epoch, position);
  });
}

}  // extern "C"
