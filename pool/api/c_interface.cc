// tributary_pool.h over Loader and AsyncLoader: turns exceptions into statuses and texts.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "pool/api/handle.h"

namespace tributary::pool {
namespace {

thread_local std::string last_error;

}  // namespace

Problem problem_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const LoadError& error) {
    return {TRIBUTARY_POOL_UNREADABLE, error.what()};
  } catch (const std::logic_error& error) {  // out_of_range, length_error, invalid_argument
    return {TRIBUTARY_POOL_INVALID_ARGUMENT, error.what()};
  } catch (const std::exception& error) {
    return {TRIBUTARY_POOL_FAILED, error.what()};
  } catch (...) {
    return {TRIBUTARY_POOL_FAILED, "unknown exception"};
  }
}

tributary_pool_status keep_problem() noexcept {
  Problem problem = problem_of(std::current_exception());
  last_error = std::move(problem.text);
  return problem.status;
}

}  // namespace tributary::pool

namespace {

using tributary::Duration;
using tributary::pool::guard;
using tributary::pool::require;
using Targets = std::vector<std::span<std::byte>>;

constexpr double kLongestWait = 86400;  // seconds

Targets targets_of(std::size_t count, void* const* targets, const std::size_t* sizes) {
  require(count == 0 || (targets != nullptr && sizes != nullptr), "targets or sizes are NULL");
  Targets out;
  for (std::size_t i = 0; i < count; ++i) {
    require(targets[i] != nullptr || sizes[i] == 0, "a target is NULL");
    out.emplace_back(static_cast<std::byte*>(targets[i]), sizes[i]);
  }
  return out;
}

}  // namespace

extern "C" {

tributary_pool_status tributary_pool_open(const char* config_path, tributary_pool** pool) {
  return guard([&] {
    require(config_path != nullptr && pool != nullptr, "config_path or pool is NULL");
    *pool = new tributary_pool(config_path);
  });
}

void tributary_pool_close(tributary_pool* pool) {
  delete pool;
}

uint64_t tributary_pool_records(const tributary_pool* pool) {
  return pool == nullptr ? 0 : pool->loader.records();
}

tributary_pool_status tributary_pool_length(const tributary_pool* pool, uint64_t id,
                                            uint32_t* length) {
  return guard([&] {
    require(pool != nullptr && length != nullptr, "pool or length is NULL");
    *length = pool->loader.length(id);
  });
}

tributary_pool_status tributary_pool_register_buffer(tributary_pool* pool, void* buffer,
                                                     size_t bytes) {
  return guard([&] {
    require(pool != nullptr && buffer != nullptr && bytes != 0,
            "pool or buffer is NULL, or has no bytes");
    pool->loader.register_buffer({static_cast<std::byte*>(buffer), bytes});
  });
}

tributary_pool_status tributary_pool_unregister_buffer(tributary_pool* pool, void* buffer) {
  return guard([&] {
    require(pool != nullptr && buffer != nullptr, "pool or buffer is NULL");
    pool->loader.unregister_buffer(static_cast<const std::byte*>(buffer));
  });
}

tributary_pool_status tributary_pool_get_into(tributary_pool* pool, uint64_t id, void* target,
                                              size_t bytes) {
  return tributary_pool_get_batch(pool, &id, 1, &target, &bytes);
}

tributary_pool_status tributary_pool_get_batch(tributary_pool* pool, const uint64_t* ids,
                                               size_t count, void* const* targets,
                                               const size_t* sizes) {
  return guard([&] {
    require(pool != nullptr && (ids != nullptr || count == 0), "pool or ids are NULL");
    const Targets its = targets_of(count, targets, sizes);
    pool->loader.get_batch({ids, count}, its);
  });
}

tributary_pool_status tributary_pool_get_batch_async(tributary_pool* pool, const uint64_t* ids,
                                                     size_t count, void* const* targets,
                                                     const size_t* sizes, tributary_pool_done done,
                                                     void* context) {
  return guard([&] {
    require(pool != nullptr && done != nullptr && (ids != nullptr || count == 0),
            "pool, ids or done are NULL");
    pool->async.get_batch({ids, ids + count}, targets_of(count, targets, sizes),
                          [done, context](const std::exception_ptr& thrown) {
                            if (!thrown) return done(context, TRIBUTARY_POOL_OK, nullptr);
                            const auto problem = tributary::pool::problem_of(thrown);
                            done(context, problem.status, problem.text.c_str());
                          });
  });
}

tributary_pool_status tributary_pool_wait(tributary_pool* pool) {
  return guard([&] {
    require(pool != nullptr, "pool is NULL");
    pool->async.wait();
  });
}

tributary_pool_status tributary_pool_wait_for(tributary_pool* pool, double seconds) {
  bool done = true;
  const tributary_pool_status status = guard([&] {
    require(pool != nullptr, "pool is NULL");
    require(seconds >= 0 && seconds <= kLongestWait, "seconds: allowed: 0 to 86400");
    done = pool->async.wait_for(Duration::ns(std::llround(seconds * 1e9)));
    if (!done) tributary::pool::last_error = "some requests are not done yet";
  });
  return done ? status : TRIBUTARY_POOL_NOT_DONE;
}

tributary_pool_status tributary_pool_get_stats(const tributary_pool* pool,
                                               tributary_pool_stats* stats) {
  return guard([&] {
    require(pool != nullptr && stats != nullptr, "pool or stats is NULL");
    const tributary::pool::LoadCounters c = pool->loader.counters();
    const tributary_pool_stats all = {sizeof all,    c.hits,  c.misses,  c.pool_bytes,
                                      c.store_bytes, c.stale, c.corrupt, c.node_failures};
    const std::size_t size = stats->struct_size;
    require(size >= sizeof(std::size_t), "stats.struct_size is not set");
    std::memcpy(stats, &all, std::min(size, sizeof all));
    stats->struct_size = size;
  });
}

const char* tributary_pool_last_error(void) {
  return tributary::pool::last_error.c_str();
}

}  // extern "C"
