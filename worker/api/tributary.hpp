// C++ interface of libtributary: the C interface of tributary.h with destructors, exceptions and
// types.
//
//   tributary::Communicator comm({.job = 1, .rank = 0, .size = 4, .address = "udp://10.77.0.254"});
//   std::vector<float> gradients(1000, 1);
//   comm.allreduce(gradients).wait();  // now 4.0 everywhere
//
// Header only, from C++17 on; link libtributary. All calls throw tributary::Error when they fail.
// Every rank makes the same calls in the same order. Memory that a call names must stay valid and
// untouched until its request is done. Any thread may use a communicator.
#ifndef TRIBUTARY_HPP
#define TRIBUTARY_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "tributary.h"

namespace tributary {
inline namespace v0 {

// A call failed. what() names job, op, ranks and cause.
class Error : public std::runtime_error {
 public:
  // Takes the calling thread's last failure.
  explicit Error(tributary_status status)
      : std::runtime_error(tributary_last_error()),
        status_(status),
        reason_(tributary_last_error_reason()),
        ranks_(tributary_last_error_ranks(nullptr, 0)) {
    tributary_last_error_ranks(ranks_.data(), ranks_.size());
  }
  tributary_status status() const { return status_; }
  // For example "rank-left" or "lease-expired"; empty for local errors and timeouts.
  const std::string& reason() const { return reason_; }
  // The ranks concerned; may be empty.
  const std::vector<std::uint32_t>& ranks() const { return ranks_; }

 private:
  tributary_status status_;
  std::string reason_;
  std::vector<std::uint32_t> ranks_;
};

inline void check(tributary_status status) {
  if (status != TRIBUTARY_OK) throw Error(status);
}

// The data type of arrays of T. float16 and bfloat16 have no C++ type: Communicator::start() takes
// them.
template <typename T>
constexpr tributary_dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return TRIBUTARY_BOOL;
  if constexpr (std::is_same_v<T, float>) return TRIBUTARY_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return TRIBUTARY_FLOAT64;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1   ? TRIBUTARY_INT8
           : sizeof(T) == 2 ? TRIBUTARY_INT16
           : sizeof(T) == 4 ? TRIBUTARY_INT32
                            : TRIBUTARY_INT64;
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "no data type of the wire");
  static_assert(std::is_signed_v<T> || sizeof(T) != 2, "the wire has no unsigned 16-bit integers");
  return sizeof(T) == 1 ? TRIBUTARY_UINT8 : sizeof(T) == 4 ? TRIBUTARY_UINT32 : TRIBUTARY_UINT64;
}

struct Options {
  std::uint32_t job = 0;
  // Size 0: both from the environment of torchrun, mpirun or Slurm.
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string address = {};  // empty: TRIBUTARY_ADDRESS of the environment
  std::chrono::duration<double> join_timeout = std::chrono::seconds(60);
  std::chrono::duration<double> op_timeout = std::chrono::seconds(60);
  std::uint32_t loss_group = 0;
  std::string host_config = {};
  std::string host_node = {};
  bool at_host = false;
  // A cluster's manager and its job, in place of job and address; see tributary_options.
  std::string manager = {};
  std::string job_name = {};
  std::string request = {};
  std::string worker = {};
  // A job that the switch learns from its ranks: "inline", "control", "wait"; see
  // tributary_options.
  std::string open = {};
  std::uint32_t units = 0;
  std::uint32_t nodes = 0;
  std::uint32_t window = 0;
  std::uint32_t chunk_bytes = 0;
  // A name of this start of the program; see tributary_options.
  std::string run = {};
  // Bits of an array's address that choose among several switches; see tributary_options.
  std::uint32_t address_bits_low = 0;
  std::uint32_t address_bits_count = 0;
};

// An op in flight. Its destruction does not cancel the op.
class [[nodiscard]] Request {
 public:
  explicit Request(tributary_request* request) : request_(request) {}

  // Blocks until the op is done.
  void wait() { check(tributary_wait(request_.get())); }
  // False if the op is not done in that time; it goes on.
  bool wait_for(std::chrono::duration<double> limit) {
    const tributary_status status = tributary_wait_for(request_.get(), limit.count());
    if (status == TRIBUTARY_NOT_DONE) return false;
    check(status);
    return true;
  }
  bool done() const { return tributary_done(request_.get()) != 0; }
  // Ranks that the result lacks, ascending. Waits.
  std::vector<std::uint32_t> missing() {
    wait();
    std::vector<std::uint32_t> ranks(tributary_request_missing(request_.get(), nullptr, 0));
    tributary_request_missing(request_.get(), ranks.data(), ranks.size());
    return ranks;
  }
  tributary_request* get() const { return request_.get(); }

 private:
  struct Free {
    void operator()(tributary_request* request) const { tributary_request_free(request); }
  };
  std::unique_ptr<tributary_request, Free> request_;
};

// An array of Communicator::allocate(). Any op takes it, and it may outlive the communicator.
template <typename T>
class Buffer {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  Buffer(void* memory, std::size_t size) : memory_(static_cast<T*>(memory)), size_(size) {}
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  struct Free {
    void operator()(T* memory) const { tributary_free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_;
};

// One rank's membership in a job.
class Communicator {
 public:
  // Joins and waits for all ranks.
  explicit Communicator(const Options& options) {
    tributary_options o;
    tributary_options_init(&o);
    o.job = options.job;
    o.rank = options.rank;
    o.size = options.size;
    o.address = text(options.address);
    o.join_timeout_seconds = options.join_timeout.count();
    o.op_timeout_seconds = options.op_timeout.count();
    o.loss_group = options.loss_group;
    o.host_config = text(options.host_config);
    o.host_node = text(options.host_node);
    o.at_host = options.at_host ? 1 : 0;
    o.manager = text(options.manager);
    o.job_name = text(options.job_name);
    o.request = text(options.request);
    o.worker = text(options.worker);
    o.open = text(options.open);
    o.units = options.units;
    o.nodes = options.nodes;
    o.window = options.window;
    o.chunk_bytes = options.chunk_bytes;
    o.run = text(options.run);
    o.address_bits_low = options.address_bits_low;
    o.address_bits_count = options.address_bits_count;
    tributary_communicator* made = nullptr;
    check(tributary_create(&o, &made));
    communicator_.reset(made);
  }

  // Any call of the C interface.
  Request start(const tributary_call& call) {
    tributary_request* request = nullptr;
    check(tributary_start(communicator_.get(), &call, &request));
    return Request(request);
  }

  // In place, for arrays, vectors and spans.
  template <typename Array>
  Request allreduce(Array& data, tributary_reduce_op op = TRIBUTARY_SUM) {
    return start(reduction(TRIBUTARY_ALLREDUCE, data, op));
  }
  // As allreduce(); only `root` gets the result.
  template <typename Array>
  Request reduce(Array& data, std::uint32_t root, tributary_reduce_op op = TRIBUTARY_SUM) {
    tributary_call call = reduction(TRIBUTARY_REDUCE, data, op);
    call.root = root;
    return start(call);
  }
  // `root`'s data, into everyone's.
  template <typename Array>
  Request broadcast(Array& data, std::uint32_t root) {
    tributary_call call = reduction(TRIBUTARY_BROADCAST, data, TRIBUTARY_SUM);
    call.root = root;
    return start(call);
  }
  // `output` gets every rank's data, rank by rank.
  template <typename Input, typename Output>
  Request all_gather(const Input& data, Output& output) {
    same_type<Input, Output>();
    require(std::size(output) == std::size(data) * size(),
            "output is not as long as all ranks' data");
    tributary_call call = reduction(TRIBUTARY_ALL_GATHER, data, TRIBUTARY_SUM);
    call.output = std::data(output);
    return start(call);
  }
  // `output` gets this rank's part of the result.
  template <typename Input, typename Output>
  Request reduce_scatter(const Input& data, Output& output,
                         tributary_reduce_op op = TRIBUTARY_SUM) {
    same_type<Input, Output>();
    require(std::size(data) == std::size(output) * size(),
            "data is not as long as all ranks' outputs");
    tributary_call call = reduction(TRIBUTARY_REDUCE_SCATTER, data, op);
    call.output = std::data(output);
    call.count = std::size(output);
    return start(call);
  }
  // Done when every rank has called it.
  Request barrier() {
    tributary_call call;
    tributary_call_init(&call);
    call.collective = TRIBUTARY_BARRIER;
    return start(call);
  }

  // `count` zeros in memory whose low address bits are the same on all ranks; see
  // tributary_allocate().
  template <typename T>
  Buffer<T> allocate(std::size_t count) {
    static_assert(dtype_of<T>() != 0, "no data type of the wire");
    require(count <= SIZE_MAX / sizeof(T), "count is larger than memory");
    void* memory = nullptr;
    check(tributary_allocate(communicator_.get(), count * sizeof(T), &memory));
    return {memory, count};
  }

  // Data by name (docs/names.md), see tributary_put() and tributary_get(). Both wait.
  template <typename Array>
  void put(const std::string& name, const Array& value,
           std::chrono::duration<double> limit = std::chrono::seconds(10)) {
    check(tributary_put(communicator_.get(), name.c_str(), std::data(value),
                        std::size(value) * sizeof *std::data(value), limit.count()));
  }
  std::vector<unsigned char> get(const std::string& name,
                                 std::chrono::duration<double> limit = std::chrono::seconds(10)) {
    void* value = nullptr;
    std::size_t bytes = 0;
    check(tributary_get(communicator_.get(), name.c_str(), limit.count(), &value, &bytes));
    const std::unique_ptr<void, void (*)(void*)> owner(value, tributary_value_free);
    const auto* const first = static_cast<const unsigned char*>(value);
    return {first, first + bytes};
  }

  // Returns false if this rank is not in the job any more.
  bool resize(std::uint32_t size) {
    check(tributary_resize(communicator_.get(), size));
    return tributary_rank(communicator_.get()) < size;
  }

  std::uint32_t rank() const { return tributary_rank(communicator_.get()); }
  std::uint32_t size() const { return tributary_size(communicator_.get()); }
  tributary_stats stats() const {
    tributary_stats stats = {};
    stats.struct_size = sizeof stats;
    check(tributary_get_stats(communicator_.get(), &stats));
    return stats;
  }
  tributary_communicator* get() const { return communicator_.get(); }

 private:
  struct Destroy {
    void operator()(tributary_communicator* c) const { tributary_destroy(c); }
  };
  template <typename Array>
  using Element =
      std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<Array&>()))>>;

  static const char* text(const std::string& value) {
    return value.empty() ? nullptr : value.c_str();
  }
  template <typename Input, typename Output>
  static constexpr void same_type() {
    static_assert(std::is_same_v<Element<const Input>, Element<Output>>,
                  "input and output differ in type");
  }
  static void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  }
  template <typename Array>
  static tributary_call reduction(tributary_collective collective, Array& data,
                                  tributary_reduce_op op) {
    tributary_call call;
    tributary_call_init(&call);
    call.collective = collective;
    call.dtype = dtype_of<Element<Array>>();
    call.op = op;
    // Never written where the call has an output.
    call.data = const_cast<Element<Array>*>(std::data(data));
    call.count = std::size(data);
    return call;
  }

  std::unique_ptr<tributary_communicator, Destroy> communicator_;
};

}  // namespace v0
}  // namespace tributary

#endif  // TRIBUTARY_HPP
