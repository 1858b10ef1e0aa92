// The worker library's C++ API: join a job, reduce arrays with the other ranks, leave.
//
//   auto comm = Communicator::create({.job = 1, .rank = 0, .size = 4,
//                                     .address = "udp://10.77.0.254"});
//   comm->allreduce(values.data(), values.size(), DType::float32, ReduceOp::sum).wait();
//
// wire::why_invalid() says which data types and operations go together. An op whose sum leaves the
// range of its type fails with Reason::overflow; the job goes on. After any other failure the
// communicator is of no more use.
//
// Ranks must issue the same ops in the same order. Thread-safe: any thread may submit and wait;
// ops run in submission order, each plane's part of them where the switch has cut the job's data
// into planes (it says so when ranks join), and an op is done when all its parts are. One progress
// thread per communicator does all I/O and sleeps when there is nothing to do. A communicator does
// not survive fork(): in the child its calls throw std::logic_error and its destructor only forgets
// it; the parent's goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/time.h"
#include "core/wire/types.h"

namespace tributary {

// Every failure of an op or of a job: text names job, op, chunk and the ranks concerned.
class CommunicatorError : public std::runtime_error {
 public:
  CommunicatorError(wire::Reason reason, std::vector<std::uint32_t> ranks, const std::string& text)
      : std::runtime_error(text), reason_(reason), ranks_(std::move(ranks)) {}
  [[nodiscard]] wire::Reason reason() const { return reason_; }  // none: timeout or local error
  [[nodiscard]] const std::vector<std::uint32_t>& missing_ranks() const { return ranks_; }

 private:
  wire::Reason reason_;
  std::vector<std::uint32_t> ranks_;
};

inline constexpr std::uint32_t kMaxLossGroup = 4096;

struct CommunicatorOptions {
  std::uint32_t job = 0;
  // Size 0, or no address: what the launcher and the environment say (worker/api/environment.h).
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string address = {};                       // see worker/transport/transport.h
  Duration join_timeout = Duration::seconds(60);  // for all ranks to appear
  Duration op_timeout = Duration::seconds(60);    // from the op's turn to its last result
  // How losses are found. 0: each chunk has its own timer. N, a power of two up to kMaxLossGroup:
  // results are checked in groups of N consecutive chunks of a shard, at most the window, whose
  // missing ones are asked for together (docs/operating/slow-jobs.md has when). Each rank
  // may choose for itself.
  std::uint32_t loss_group = 0;
  // The job's completion host, a parameter server where it names one, sums what this rank sends,
  // and no switch does (O2). What one rank asks for holds for the chunk, whatever the others ask
  // for.
  bool at_host = false;
  // If set, this process also hosts completion engines (T10), on a thread and a UDP socket of their
  // own, from create() until the communicator is destroyed: a server's file, or a topology, in
  // which `host_node` names a server or this worker. The address must be one of this machine's.
  std::string host_config = {};
  std::string host_node = {};
  // If set, create() and start() ask it every 50 ms while they wait, on the thread that called
  // them; true ends them with a CommunicatorError.
  std::function<bool()> cancelled = {};
};

// Cumulative since create(). Bytes are payload bytes.
struct CommunicatorStats {
  std::uint64_t ops = 0;
  std::uint64_t contributions = 0;
  std::uint64_t contribution_bytes = 0;
  std::uint64_t results = 0;
  std::uint64_t result_bytes = 0;
  std::uint64_t duplicate_results = 0;
  std::uint64_t probes = 0;
  std::uint64_t resends = 0;
  std::uint64_t pending_replies = 0;
  std::uint64_t unknown_replies = 0;
  std::uint64_t drops = 0;
  std::uint64_t smoothed_rtt_ns = 0;
  std::uint64_t float_retries = 0;     // chunks summed as floats as fixed-point sums overflow
  std::uint64_t degraded_results = 0;  // chunks whose result lacks ranks
  std::uint64_t marked_results = 0;    // chunks whose result tells of a queue that data met
  std::uint64_t reported_marks = 0;    // results that met one on their way to this rank
  std::uint64_t window_decreases = 0;  // halvings of a shard's window for the former
  std::uint64_t least_window = 0;      // chunks under way: the least bound that a shard had
};

// Whose data an op's result is made of. Everybody's, unless the job allows results without ranks
// that are late (`stragglers.degraded_after`): then all ranks, the late ones included, hold the
// same result and the same list. Each chunk of the op may lack others; a mean is divided by how
// many ranks its chunk has.
struct Outcome {
  // Elements of the result, from `begin` on, that so many ranks are inside of.
  struct Part {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::uint32_t counted = 0;
    bool operator==(const Part&) const = default;
  };
  std::uint32_t counted = 0;           // ranks that are inside of every chunk
  std::vector<std::uint32_t> missing;  // the others, ascending
  // All elements that this rank gets, in order; a list's are counted through its arrays.
  std::vector<Part> parts;
  [[nodiscard]] bool degraded() const { return !missing.empty(); }
  // Makes of a result, of op sum, the mean of the ranks inside of each element. `data`: all of it.
  // Throws std::invalid_argument unless `dtype` is a float.
  void divide(void* data, wire::DType dtype) const;
};

class Request {
 public:
  Request() = default;
  // Blocks until the op is done; throws CommunicatorError if it failed. May be called again.
  void wait();
  // As wait(), for at most `limit`. True when the op is done; false otherwise, which may be early
  // when a signal handler ran.
  bool wait_for(Duration limit);
  // True when wait() would not block.
  [[nodiscard]] bool done() const;
  // Of an op that is done: waits for it, as wait() does.
  [[nodiscard]] Outcome outcome();

  struct Part;
  struct State;
  explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// One collective operation. Data type, operation, count, root and encoding must be the same on
// every rank. Memory must stay valid until the request is done; nothing else may touch it
// meanwhile. What overlaps the memory of an op in flight is refused, unless both only read it.
//
//   allreduce       data: count elements, in place
//   reduce          data: count elements; root's is replaced by the result, others' stay
//   broadcast       data: count elements of root, received by the others
//   all_gather      data: count elements; output: size × count, rank by rank
//   reduce_scatter  data: size × count elements; output: count elements, this rank's part
//
//   open, update    see open_model(), update_model()
//
// In place: all_gather with data = its part of output; reduce_scatter with output = its part of
// data, or the head of data, where the result waits in memory of its own until the op is done.
// Other overlaps of data and output are refused.
struct CollectiveCall {
  wire::Collective collective = wire::Collective::allreduce;
  void* data = nullptr;  // only read where the op has an output, and by ranks that only send
  void* output = nullptr;
  std::size_t count = 0;
  wire::DType dtype = wire::DType::none;
  wire::ReduceOp op = wire::ReduceOp::sum;
  std::uint32_t root = 0;
  wire::Encoding encoding = wire::Encoding::plain;
  // Of block_scaled: every rank's values are rounded to multiples of 2^scale_exponent and summed as
  // int32. None: found chunk by chunk, so that no sum can overflow, at the cost of an exchange
  // before. What overflows under a chosen one is summed again as float32, which takes a round trip
  // more; after a row of these, as float32 at once (docs/protocol.md, rule 12).
  std::optional<std::int32_t> scale_exponent = {};
  std::uint32_t array = 0;  // of the model that open and update concern
};

// One array of a list.
struct ArrayPart {
  void* data = nullptr;
  std::size_t count = 0;  // elements
};

class Communicator {
 public:
  // Joins and waits for all ranks. Throws CommunicatorError, std::invalid_argument or
  // std::runtime_error.
  static std::unique_ptr<Communicator> create(const CommunicatorOptions& options);
  // Waits for nothing: open ops fail, the switch is told that this rank leaves.
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Checks the call and starts it. What cannot be done throws std::invalid_argument with the
  // reason. Waits while 4,096 ops are in flight.
  virtual Request start(const CollectiveCall& call) = 0;
  // The same for a list of arrays of call.dtype as if they were one, in place of call.data and
  // call.count: allreduce, reduce, broadcast. A list costs one op, and has the bits that one array
  // has; only the sum of the counts need be the same on every rank. Arrays that do not follow each
  // other in memory are copied, there and back.
  virtual Request start(const CollectiveCall& call, std::span<const ArrayPart> arrays) = 0;

  // block_scaled: float32 and sum; every rank gets the same bits in whatever order data arrives
  // (worker/session/block_scaled.h).
  Request allreduce(void* data, std::size_t count, wire::DType dtype, wire::ReduceOp op,
                    wire::Encoding encoding = wire::Encoding::plain,
                    std::optional<std::int32_t> scale_exponent = {}) {
    return start({wire::Collective::allreduce, data, nullptr, count, dtype, op, 0, encoding,
                  scale_exponent});
  }
  Request allreduce(std::span<const ArrayPart> arrays, wire::DType dtype, wire::ReduceOp op) {
    CollectiveCall call;
    call.dtype = dtype;
    call.op = op;
    return start(call, arrays);
  }
  Request reduce(void* data, std::size_t count, wire::DType dtype, wire::ReduceOp op,
                 std::uint32_t root) {
    return start({wire::Collective::reduce, data, nullptr, count, dtype, op, root});
  }
  Request broadcast(void* data, std::size_t count, wire::DType dtype, std::uint32_t root) {
    return start(
        {wire::Collective::broadcast, data, nullptr, count, dtype, wire::ReduceOp::sum, root});
  }
  Request all_gather(const void* input, void* output, std::size_t count, wire::DType dtype) {
    return start({wire::Collective::all_gather, const_cast<void*>(input), output, count, dtype});
  }
  Request reduce_scatter(const void* input, void* output, std::size_t count, wire::DType dtype,
                         wire::ReduceOp op) {
    return start(
        {wire::Collective::reduce_scatter, const_cast<void*>(input), output, count, dtype, op});
  }
  // A job whose parameter server holds the model (T21). Each time that the ranks have joined: ask
  // for the step, open every array of the model, then update every array once a step. What the
  // server cannot continue ends the epoch with Reason::model_lost or model_mismatch, never with
  // other numbers.
  //
  // Steps that the model has behind it; nullopt: it has no parameters yet. Waits.
  std::optional<std::uint32_t> model_step() {
    std::uint32_t next = 0;
    CollectiveCall call{wire::Collective::open, &next, nullptr, 1, wire::DType::uint32};
    call.array = wire::kModelStep;
    start(call).wait();
    return next == 0 ? std::nullopt : std::optional(next - 1);
  }
  // `data` becomes the array's parameters. Where the model has none yet, those are what it holds on
  // `root`.
  Request open_model(void* data, std::size_t count, std::uint16_t array, std::uint32_t root = 0) {
    CollectiveCall call{wire::Collective::open, data, nullptr, count, wire::DType::float32};
    call.root = root;
    call.array = array;
    return start(call);
  }
  // `data`: this rank's gradients; becomes the array's parameters after a step of the optimizer by
  // their sum or mean.
  Request update_model(void* data, std::size_t count, std::uint16_t array,
                       wire::ReduceOp op = wire::ReduceOp::sum) {
    CollectiveCall call{wire::Collective::update, data, nullptr, count, wire::DType::float32, op};
    call.array = array;
    return start(call);
  }
  // Done when every rank has issued it, and all ops before it.
  Request barrier_async() { return start({wire::Collective::barrier}); }
  void barrier() { barrier_async().wait(); }

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual std::uint16_t epoch() const = 0;
  [[nodiscard]] virtual CommunicatorStats stats() const = 0;
  // True where the job's integer sums wrap; false where one that leaves its type's range fails.
  [[nodiscard]] virtual bool modular() const = 0;

 protected:
  Communicator() = default;
};

}  // namespace tributary
