// The C interface over Communicator: handles, status codes, and an error text for each thread.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/api/tributary.h"

struct tributary_communicator {
  std::unique_ptr<tributary::Communicator> impl;
};
struct tributary_request {
  tributary::Request impl;
};

namespace {

using tributary::Duration;
using tributary::wire::Collective;
using tributary::wire::DType;
using tributary::wire::Encoding;
using tributary::wire::ReduceOp;

constexpr bool same(int c, auto wire) {
  return c == static_cast<int>(wire);
}
static_assert(same(TRIBUTARY_INT8, DType::int8) && same(TRIBUTARY_INT16, DType::int16) &&
              same(TRIBUTARY_INT32, DType::int32) && same(TRIBUTARY_INT64, DType::int64) &&
              same(TRIBUTARY_UINT8, DType::uint8) && same(TRIBUTARY_UINT32, DType::uint32) &&
              same(TRIBUTARY_UINT64, DType::uint64) && same(TRIBUTARY_FLOAT16, DType::float16) &&
              same(TRIBUTARY_BFLOAT16, DType::bfloat16) &&
              same(TRIBUTARY_FLOAT32, DType::float32) && same(TRIBUTARY_FLOAT64, DType::float64) &&
              same(TRIBUTARY_BOOL, DType::boolean));
static_assert(same(TRIBUTARY_SUM, ReduceOp::sum) && same(TRIBUTARY_MEAN, ReduceOp::mean) &&
              same(TRIBUTARY_PROD, ReduceOp::prod) && same(TRIBUTARY_MIN, ReduceOp::min) &&
              same(TRIBUTARY_MAX, ReduceOp::max) && same(TRIBUTARY_BAND, ReduceOp::bit_and) &&
              same(TRIBUTARY_BOR, ReduceOp::bit_or) && same(TRIBUTARY_BXOR, ReduceOp::bit_xor) &&
              same(TRIBUTARY_LAND, ReduceOp::logical_and) &&
              same(TRIBUTARY_LOR, ReduceOp::logical_or) &&
              same(TRIBUTARY_LXOR, ReduceOp::logical_xor));
static_assert(same(TRIBUTARY_ALLREDUCE, Collective::allreduce) &&
              same(TRIBUTARY_REDUCE, Collective::reduce) &&
              same(TRIBUTARY_BROADCAST, Collective::broadcast) &&
              same(TRIBUTARY_ALL_GATHER, Collective::all_gather) &&
              same(TRIBUTARY_REDUCE_SCATTER, Collective::reduce_scatter) &&
              same(TRIBUTARY_BARRIER, Collective::barrier) &&
              same(TRIBUTARY_OPEN, Collective::open) && same(TRIBUTARY_UPDATE, Collective::update));
static_assert(TRIBUTARY_MODEL_STEP == tributary::wire::kModelStep);
static_assert(same(TRIBUTARY_PLAIN, Encoding::plain) &&
              same(TRIBUTARY_BLOCK_SCALED, Encoding::block_scaled));

struct LastError {
  std::string text;
  const char* reason = "";
  std::vector<std::uint32_t> ranks;
};
LastError& last_error() {
  thread_local LastError error;
  return error;
}

tributary_status record(tributary_status status, const char* text, const char* reason = "",
                        std::vector<std::uint32_t> ranks = {}) noexcept {
  try {
    last_error() = {text, reason, std::move(ranks)};
  } catch (...) {
    // No memory for the text: the status still shows the kind of failure.
  }
  return status;
}

tributary_status failed(const tributary::CommunicatorError& e) noexcept {
  using tributary::wire::Reason;
  const char* reason = e.reason() == Reason::none ? "" : tributary::wire::name_of(e.reason());
  return record(e.reason() == Reason::overflow ? TRIBUTARY_OVERFLOW : TRIBUTARY_FAILED, e.what(),
                reason, e.missing_ranks());
}

// The memory that tributary_allocate() has given, until tributary_free().
struct Allocated {
  std::mutex mutex;
  std::unordered_map<void*, std::shared_ptr<std::byte[]>> owners;
};
Allocated& allocated() {
  static auto* const all = new Allocated;  // callers may free while the process ends
  return *all;
}

// Runs `body`, which returns a status, and turns any exception into a status.
template <typename Body>
tributary_status guarded(Body body) noexcept {
  try {
    return body();
  } catch (const tributary::CommunicatorError& e) {
    return failed(e);
  } catch (const std::invalid_argument& e) {
    return record(TRIBUTARY_INVALID_ARGUMENT, e.what());
  } catch (const std::logic_error& e) {
    return record(TRIBUTARY_INVALID_ARGUMENT, e.what());
  } catch (const std::exception& e) {
    return record(TRIBUTARY_SYSTEM, e.what());
  } catch (...) {
    return record(TRIBUTARY_SYSTEM, "unknown error");
  }
}

template <typename T>
T& checked(T* pointer, const char* name) {
  if (pointer == nullptr) throw std::invalid_argument(std::string(name) + " is NULL");
  return *pointer;
}

Duration seconds(double value, const char* name) {
  constexpr double kMost = 1e9;
  if (!(value >= 0) || value > kMost)
    throw std::invalid_argument(std::string(name) + " is not within 0 to 1e9 seconds");
  return Duration::ns(std::llround(value * 1e9));
}

tributary::Retry retry_of(const char* text) {
  if (text == nullptr) return tributary::Retry::by_environment;
  const std::string_view retry = text;
  if (retry == "none") return tributary::Retry::none;
  if (retry == "ops") return tributary::Retry::ops;
  throw std::invalid_argument("retry '" + std::string(retry) + "': allowed are none, ops and NULL");
}

tributary::Request start_allreduce(tributary_communicator* c, void* data, std::size_t count,
                                   tributary_dtype dtype, tributary_reduce_op op) {
  return checked(c, "communicator")
      .impl->allreduce(data, count, static_cast<DType>(dtype), static_cast<ReduceOp>(op));
}

tributary::Request start(tributary::Communicator& communicator, const tributary_call& c,
                         const tributary::CollectiveCall& call) {
  if (c.arrays == nullptr) return communicator.start(call);
  if (c.data != nullptr || c.count != 0)
    throw std::invalid_argument("call has both data and arrays; a list stands in place of data");
  std::vector<tributary::ArrayPart> arrays;
  for (const tributary_array& array : std::span(c.arrays, c.array_count))
    arrays.push_back({array.data, array.count});
  return communicator.start(call, arrays);
}

std::optional<std::int32_t> exponent_of(const tributary_call& call) {
  if (call.scale_exponent == TRIBUTARY_SCALE_AGREED) return {};
  return call.scale_exponent;
}

// A caller built against an older header knows fewer members, but at least the first `least` bytes:
// members that it does not know stay as `init` sets them.
template <typename Struct>
Struct known_part(const Struct* from, const char* name, std::size_t least, void (*init)(Struct*)) {
  const std::size_t known = checked(from, name).struct_size;
  if (known < least || known > sizeof(Struct))
    throw std::invalid_argument(std::string(name) + ".struct_size: call tributary_" + name +
                                "_init first");
  Struct whole;
  init(&whole);
  std::memcpy(&whole, from, known);
  return whole;
}

}  // namespace

const char* tributary_version(void) {
  return TRIBUTARY_VERSION;
}

const char* tributary_last_error(void) {
  return last_error().text.c_str();
}

const char* tributary_last_error_reason(void) {
  return last_error().reason;
}

size_t tributary_last_error_ranks(uint32_t* ranks, size_t capacity) {
  const auto& known = last_error().ranks;
  if (ranks != nullptr) std::copy_n(known.begin(), std::min(capacity, known.size()), ranks);
  return known.size();
}

void tributary_options_init(tributary_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->struct_size = sizeof *options;
  options->join_timeout_seconds = 60;
  options->op_timeout_seconds = 60;
  options->retry_timeout_seconds = 30;
}

tributary_status tributary_create(const tributary_options* options,
                                  tributary_communicator** communicator) {
  return guarded([&] {
    tributary_communicator*& out = checked(communicator, "communicator");
    out = nullptr;
    const tributary_options o = known_part(
        options, "options", offsetof(tributary_options, loss_group), tributary_options_init);
    tributary::CommunicatorOptions c;
    c.job = o.job;
    c.rank = o.rank;
    c.size = o.size;
    if (o.address != nullptr) c.address = o.address;
    c.join_timeout = seconds(o.join_timeout_seconds, "join_timeout_seconds");
    c.op_timeout = seconds(o.op_timeout_seconds, "op_timeout_seconds");
    c.loss_group = o.loss_group;
    c.at_host = o.at_host != 0;
    c.fail_if_taken = o.fail_if_taken != 0;
    c.retry = retry_of(o.retry);
    c.retry_timeout = seconds(o.retry_timeout_seconds, "retry_timeout_seconds");
    if (o.host_config != nullptr) c.host_config = o.host_config;
    if (o.host_node != nullptr) c.host_node = o.host_node;
    if (o.manager != nullptr) c.managed.manager = o.manager;
    if (o.job_name != nullptr) c.managed.name = o.job_name;
    if (o.request != nullptr) c.managed.request = o.request;
    if (o.worker != nullptr) c.managed.worker = o.worker;
    if (o.run != nullptr) c.run = o.run;
    if (o.open != nullptr) c.open.by = tributary::open_of(o.open);
    c.open.units = o.units;
    c.open.nodes = o.nodes;
    if (o.window != 0) c.open.window = o.window;
    if (o.chunk_bytes != 0) c.open.chunk_bytes = o.chunk_bytes;
    c.address_bits = {o.address_bits_low, o.address_bits_count};
    auto handle = std::make_unique<tributary_communicator>();
    handle->impl = tributary::Communicator::create(c);
    out = handle.release();
    return TRIBUTARY_OK;
  });
}

void tributary_destroy(tributary_communicator* communicator) {
  delete communicator;
}

tributary_status tributary_allreduce(tributary_communicator* communicator, void* data, size_t count,
                                     tributary_dtype dtype, tributary_reduce_op op) {
  return guarded([&] {
    start_allreduce(communicator, data, count, dtype, op).wait();
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_allreduce_async(tributary_communicator* communicator, void* data,
                                           size_t count, tributary_dtype dtype,
                                           tributary_reduce_op op, tributary_request** request) {
  return guarded([&] {
    tributary_request*& out = checked(request, "request");
    out = nullptr;
    auto handle = std::make_unique<tributary_request>();
    handle->impl = start_allreduce(communicator, data, count, dtype, op);
    out = handle.release();
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_barrier(tributary_communicator* communicator) {
  return guarded([&] {
    checked(communicator, "communicator").impl->barrier();
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_resize(tributary_communicator* communicator, uint32_t size) {
  return guarded([&] {
    checked(communicator, "communicator").impl->resize(size);
    return TRIBUTARY_OK;
  });
}

void tributary_call_init(tributary_call* call) {
  if (call == nullptr) return;
  *call = {};
  call->struct_size = sizeof *call;
  call->op = TRIBUTARY_SUM;
  call->scale_exponent = TRIBUTARY_SCALE_AGREED;
}

tributary_status tributary_start(tributary_communicator* communicator, const tributary_call* call,
                                 tributary_request** request) {
  return guarded([&] {
    const tributary_call c =
        known_part(call, "call", offsetof(tributary_call, scale_exponent), tributary_call_init);
    auto handle = std::make_unique<tributary_request>();
    if (request != nullptr) *request = nullptr;
    handle->impl = start(*checked(communicator, "communicator").impl, c,
                         {static_cast<Collective>(c.collective), c.data, c.output, c.count,
                          static_cast<DType>(c.dtype), static_cast<ReduceOp>(c.op), c.root,
                          static_cast<Encoding>(c.encoding), exponent_of(c), c.array});
    if (request != nullptr)
      *request = handle.release();
    else
      handle->impl.wait();
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_wait(tributary_request* request) {
  return guarded([&] {
    checked(request, "request").impl.wait();
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_wait_for(tributary_request* request, double limit) {
  return guarded([&] {
    if (checked(request, "request").impl.wait_for(seconds(limit, "seconds"))) return TRIBUTARY_OK;
    return record(TRIBUTARY_NOT_DONE, "the op is not done yet");
  });
}

int tributary_done(const tributary_request* request) {
  return request == nullptr || request->impl.done() ? 1 : 0;
}

void tributary_request_free(tributary_request* request) {
  delete request;
}

uint32_t tributary_rank(const tributary_communicator* communicator) {
  return communicator == nullptr ? 0 : communicator->impl->rank();
}

uint32_t tributary_size(const tributary_communicator* communicator) {
  return communicator == nullptr ? 0 : communicator->impl->size();
}

tributary_status tributary_get_stats(const tributary_communicator* communicator,
                                     tributary_stats* stats) {
  return guarded([&] {
    const auto s = checked(communicator, "communicator").impl->stats();
    const std::size_t room = checked(stats, "stats").struct_size;
    if (room < sizeof(std::size_t) || room > sizeof(tributary_stats))
      throw std::invalid_argument("stats.struct_size is not sizeof(tributary_stats)");
    const tributary_stats all = {room,
                                 s.ops,
                                 s.contributions,
                                 s.contribution_bytes,
                                 s.results,
                                 s.result_bytes,
                                 s.duplicate_results,
                                 s.probes,
                                 s.resends,
                                 s.pending_replies,
                                 s.unknown_replies,
                                 s.drops,
                                 s.smoothed_rtt_ns,
                                 s.float_retries,
                                 s.degraded_results,
                                 s.marked_results,
                                 s.reported_marks,
                                 s.window_decreases,
                                 s.least_window,
                                 s.asked_results,
                                 s.retries};
    // A caller built against an older header knows fewer fields.
    std::memcpy(stats, &all, room);
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_request_outcome(tributary_request* request, tributary_outcome* outcome) {
  return guarded([&] {
    const std::size_t room = checked(outcome, "outcome").struct_size;
    if (room < sizeof(std::size_t) || room > sizeof(tributary_outcome))
      throw std::invalid_argument("outcome.struct_size is not sizeof(tributary_outcome)");
    const tributary::Outcome o = checked(request, "request").impl.outcome();
    const tributary_outcome all = {room, o.degraded() ? 1u : 0u, o.counted,
                                   static_cast<std::uint32_t>(o.missing.size())};
    std::memcpy(outcome, &all, room);
    return TRIBUTARY_OK;
  });
}

size_t tributary_request_missing(tributary_request* request, uint32_t* ranks, size_t capacity) {
  if (request == nullptr || !request->impl.done()) return 0;
  std::vector<std::uint32_t> missing;
  const tributary_status status = guarded([&] {
    missing = request->impl.outcome().missing;
    return TRIBUTARY_OK;
  });
  if (status != TRIBUTARY_OK) return 0;
  if (ranks != nullptr) std::copy_n(missing.begin(), std::min(capacity, missing.size()), ranks);
  return missing.size();
}

size_t tributary_request_parts(tributary_request* request, tributary_part* parts, size_t capacity) {
  if (request == nullptr || !request->impl.done()) return 0;
  std::vector<tributary::Outcome::Part> all;
  const tributary_status status = guarded([&] {
    all = request->impl.outcome().parts;
    return TRIBUTARY_OK;
  });
  if (status != TRIBUTARY_OK) return 0;
  for (std::size_t i = 0; parts != nullptr && i < std::min(capacity, all.size()); ++i)
    parts[i] = {all[i].begin, all[i].count, all[i].counted};
  return all.size();
}

tributary_status tributary_request_divide(tributary_request* request, void* data,
                                          tributary_dtype dtype) {
  return guarded([&] {
    const tributary::Outcome outcome = checked(request, "request").impl.outcome();
    if (!outcome.parts.empty()) (void)checked(static_cast<char*>(data), "data");
    outcome.divide(data, static_cast<DType>(dtype));
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_allocate(tributary_communicator* communicator, size_t bytes,
                                    void** memory) {
  return guarded([&] {
    void*& out = checked(memory, "memory");
    out = nullptr;
    auto owner = checked(communicator, "communicator").impl->allocate(bytes);
    void* const begin = owner.get();
    Allocated& all = allocated();
    const std::lock_guard lock(all.mutex);
    all.owners[begin] = std::move(owner);
    out = begin;
    return TRIBUTARY_OK;
  });
}

void tributary_free(void* memory) {
  Allocated& all = allocated();
  const std::lock_guard lock(all.mutex);
  all.owners.erase(memory);
}

tributary_status tributary_put(tributary_communicator* communicator, const char* name,
                               const void* value, size_t bytes, double limit) {
  return guarded([&] {
    tributary::Communicator& comm = *checked(communicator, "communicator").impl;
    if (bytes != 0) (void)checked(static_cast<const char*>(value), "value");
    comm.put(&checked(name, "name"), {static_cast<const std::byte*>(value), bytes},
             seconds(limit, "seconds"));
    return TRIBUTARY_OK;
  });
}

tributary_status tributary_get(tributary_communicator* communicator, const char* name, double limit,
                               void** value, size_t* bytes) {
  return guarded([&] {
    tributary::Communicator& comm = *checked(communicator, "communicator").impl;
    void*& to = checked(value, "value");
    std::size_t& length = checked(bytes, "bytes");
    const auto got = comm.get(&checked(name, "name"), seconds(limit, "seconds"));
    void* const memory = std::malloc(std::max<std::size_t>(1, got.size()));
    if (memory == nullptr) throw std::bad_alloc();
    if (!got.empty()) std::memcpy(memory, got.data(), got.size());
    to = memory;
    length = got.size();
    return TRIBUTARY_OK;
  });
}

void tributary_value_free(void* value) {
  std::free(value);
}
