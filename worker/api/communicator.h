// The worker library's C++ API: join a job, reduce arrays with the other ranks, leave.
//
//   auto comm = Communicator::create({.job = 1, .rank = 0, .size = 4,
//                                     .address = "udp://10.77.0.254"});
//   comm->allreduce(values.data(), values.size(), DType::float32, ReduceOp::sum).wait();
//
// wire::why_invalid() tells which data types and operations go together. An op whose sum leaves the
// range of its type fails with Reason::overflow; the job goes on. After any other failure the
// communicator cannot be used any more.
//
// Ranks must issue the same ops in the same order. Thread-safe: any thread may submit and wait; ops
// run in submission order. If the switch cuts the job's data into planes (START says so), each
// plane runs its part of the op, and the op is done when all its parts are. One progress thread per
// communicator does all I/O and sleeps when idle. A communicator does not survive fork(): in the
// child its calls throw std::logic_error and its destructor only frees it; the parent's is not
// affected.
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
#include "worker/agreement/open_job.h"
#include "worker/layout/address_bits.h"
#include "worker/manager/managed_job.h"

namespace tributary {

// Every failure of an op or of a job; the text names job, op, chunk and the ranks concerned.
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

// The fate of ops whose epoch ends unannounced, because a switch or a link has died.
enum class Retry : std::uint8_t {
  by_environment,  // TRIBUTARY_RETRY: "ops" or "none"; not set: none
  none,            // they fail
  ops,             // they are done again in another epoch, all by themselves
};

struct CommunicatorOptions {
  std::uint32_t job = 0;
  // Size 0, or no address: taken from the launcher and the environment (worker/api/environment.h).
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  // See worker/transport/transport.h. Several, separated by commas, the same on every rank:
  // switches that share the work of each op (docs/protocol/planes.md).
  std::string address = {};
  // For several switches: bits of an array's address, the same on every rank, that choose the
  // switch of each chunk (worker/layout/address_bits.h). Ops then need memory with the same lowest
  // low + count bits on all ranks, as from allocate(). None: TRIBUTARY_ADDRESS_BITS, "LOW,COUNT";
  // without it each switch gets a run of an op's chunks, wherever its memory is.
  AddressBits address_bits = {};
  Duration join_timeout = Duration::seconds(60);  // for all ranks to appear
  Duration op_timeout = Duration::seconds(60);    // from the op's turn to its last result
  // Another process that has this rank may be about to end, so create() repeats its JOIN until
  // `join_timeout`. If set, create() fails as soon as that process has answered the switch.
  bool fail_if_taken = false;
  // How losses are found. 0: each chunk has its own timer. N, a power of two up to kMaxLossGroup:
  // results are checked in groups of N consecutive chunks of a shard, at most the window, and a
  // group's missing ones are asked for together (docs/operating/slow-jobs.md says when to use it).
  // Each rank may choose its own value.
  std::uint32_t loss_group = 0;
  // If set, the job's completion host (a parameter server, if it names one) sums this rank's data,
  // and no switch does (O2). If one rank asks for it, that holds for the chunk, whatever the other
  // ranks ask for.
  bool at_host = false;
  // If set, this process also hosts completion engines (T10), on a thread and a UDP socket of their
  // own, from create() until the communicator is destroyed. A server's file; or a topology in which
  // `host_node` names a server or this worker. The address must be one of this machine's.
  std::string host_config = {};
  std::string host_node = {};
  // Equal on all ranks; one switch in `address`. The library then copies what an op overwrites, and
  // what other ranks may need again (docs/protocol/retry.md).
  Retry retry = Retry::by_environment;
  Duration retry_timeout = Duration::seconds(30);  // for all ranks to meet again
  std::size_t retry_bytes = std::size_t{1} << 30;  // of copies for ops that this rank has done
  // If set, the progress thread times its stages: two clock readings for each packet and call.
  bool stages = false;
  // If set, calls that wait (create(), put(), get(), resize()) call it every 50 ms, on their
  // caller's thread; true ends them with a CommunicatorError.
  std::function<bool()> cancelled = {};
  // create() calls it once, on its caller's thread, when it waits for another process that has this
  // rank, or for ranks of another run; with a sentence that names the address of one. Not set: the
  // sentence goes to stderr.
  std::function<void(const std::string&)> notice = {};
  // Equal on all ranks of one start of a program, and another at its next start: ranks of two
  // starts form no epoch, but the later ones wait until the earlier ones have gone. Empty:
  // TRIBUTARY_RUN of the environment; without it, ranks of any run may meet.
  std::string run = {};
  // A job that the switch need not have before its ranks come; not with a manager.
  OpenOptions open = {};
  // If it names a manager, that says job, rank, size and address; create() waits for its answer
  // until `join_timeout`, and then joins.
  worker::ManagedJob managed = {};
};

// Cumulative since create(). Bytes are payload bytes.
struct CommunicatorStats {
  std::uint64_t ops = 0;
  std::uint64_t contributions = 0;
  std::uint64_t contribution_bytes = 0;
  std::uint64_t results = 0;
  std::uint64_t result_bytes = 0;
  std::uint64_t duplicate_results = 0;
  std::uint64_t asked_results = 0;  // came only as the answer to a probe
  std::uint64_t probes = 0;
  std::uint64_t resends = 0;
  std::uint64_t pending_replies = 0;
  std::uint64_t unknown_replies = 0;
  std::uint64_t drops = 0;
  std::uint64_t smoothed_rtt_ns = 0;
  std::uint64_t float_retries = 0;     // chunks summed as floats as fixed-point sums overflow
  std::uint64_t degraded_results = 0;  // chunks whose result lacks ranks
  std::uint64_t marked_results = 0;    // chunks whose result carries a congestion mark
  std::uint64_t reported_marks = 0;    // results that got a mark on their way to this rank
  std::uint64_t window_decreases = 0;  // halvings of a shard's window because of marked results
  std::uint64_t least_window = 0;      // chunks in flight: the smallest limit that a shard had
  std::uint64_t retries = 0;           // epochs in which ops of a lost one were done again
};

// Time of the progress threads by stage, one thread for each switch, cumulative since create().
struct CommunicatorStages {
  std::uint64_t session_ns = 0;  // heads and CRCs of packets to send, timers, bookkeeping
  std::uint64_t send_ns = 0;     // the transport: system calls, copies, its own checksums
  std::uint64_t receive_ns = 0;  // the same for arrived packets
  std::uint64_t unpack_ns = 0;   // checks of packets by the session, results put in place
  std::uint64_t wait_ns = 0;     // asleep
  std::uint64_t sends = 0;       // calls of the transport
  std::uint64_t datagrams = 0;   // sent by them
  std::uint64_t receives = 0;
  std::uint64_t packets = 0;
  std::uint64_t waits = 0;
};

// The ranks whose data is in an op's result. All ranks, unless the job allows results without late
// ranks (`stragglers.degraded_after`): then all ranks, the late ones included, hold the same result
// and the same list. Each chunk of the op may lack other ranks; a mean is divided by the number of
// ranks in its chunk.
struct Outcome {
  // Elements of the result from `begin` on that contain the data of so many ranks.
  struct Part {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::uint32_t counted = 0;
    bool operator==(const Part&) const = default;
  };
  std::uint32_t counted = 0;           // ranks whose data is in every chunk
  std::vector<std::uint32_t> missing;  // the other ranks, ascending
  // All elements that this rank gets, in order; for a list, counted through its arrays.
  std::vector<Part> parts;
  [[nodiscard]] bool degraded() const { return !missing.empty(); }
  // Turns a result, of op sum, into the mean of each element's ranks. `data`: the whole result.
  // Throws std::invalid_argument unless `dtype` is a float.
  void divide(void* data, wire::DType dtype) const;
  // Turns a result, of op sum, into an estimate of the sum over `ranks` ranks: each element is
  // multiplied by `ranks` over the number of ranks in it. Elements that have all ranks stay.
  // Throws like divide().
  void scale(void* data, wire::DType dtype, std::uint32_t ranks) const;
};

class Request {
 public:
  Request() = default;
  // Blocks until the op is done; throws CommunicatorError if it failed. May be called again.
  void wait();
  // Like wait(), for at most `limit`. Returns true if the op is done; false otherwise, possibly
  // early if a signal handler ran.
  bool wait_for(Duration limit);
  // True when wait() would not block.
  [[nodiscard]] bool done() const;
  // For an op that is done; otherwise waits for it first, like wait().
  [[nodiscard]] Outcome outcome();

  struct Part;
  struct State;
  explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// One collective operation. Data type, operation, count, root and encoding must be equal on every
// rank. Memory must stay valid until the request is done; no other code may use it meanwhile. An op
// whose memory overlaps that of an op in flight is refused, unless both only read it.
//
//   allreduce       data: count elements, in place
//   reduce          data: count elements; root's is replaced by the result, others' stay
//   broadcast       data: count elements of root, received by the others
//   all_gather      data: count elements; output: size × count, rank by rank
//   reduce_scatter  data: size × count elements; output: count elements, this rank's part
//
//   open, update    see open_model(), update_model()
//
// With CommunicatorOptions::address_bits, the address of the memory that has all parts chooses
// switches: output for all_gather, else data. A list of arrays counts as one at address 0. An op
// whose addresses differ in these bits fails on every rank, and ends the epoch.
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
  // For block_scaled: every rank's values are rounded to multiples of 2^scale_exponent and summed
  // as int32. None: an exchange finds an exponent for each chunk, so that no sum can overflow. A
  // chunk that overflows under a chosen one is summed again as float32, one round trip later; after
  // a row of these, chunks are sent as float32 at once (docs/protocol.md, rule 12).
  std::optional<std::int32_t> scale_exponent = {};
  std::uint32_t array = 0;  // the array of the model, for open and update
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
  // Does not wait: open ops fail, and the switch is told that this rank leaves.
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Checks the call and starts it. Throws std::invalid_argument with the reason if it cannot be
  // done. Never waits for other ranks, however many ops are in flight.
  virtual Request start(const CollectiveCall& call) = 0;
  // The same for a list of arrays of call.dtype, treated as one, instead of call.data and
  // call.count: allreduce, reduce, broadcast. A list costs one op, and gives the same bits as one
  // array; only the sum of the counts must be equal on every rank. Arrays that do not follow each
  // other in memory are copied, there and back.
  virtual Request start(const CollectiveCall& call, std::span<const ArrayPart> arrays) = 0;

  // block_scaled: float32 and sum; every rank gets the same bits, whatever the order in which data
  // arrives (worker/session/block_scaled.h).
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
  // A job whose parameter server holds the model (T21). After create(): ask for the step, open
  // every array of the model, then update every array once a step. If the server cannot continue
  // from the model's state, the epoch ends with Reason::model_lost or model_mismatch; results are
  // never wrong.
  //
  // The steps that the model has done; nullopt if it has no parameters yet. Waits.
  std::optional<std::uint32_t> model_step() {
    std::uint32_t next = 0;
    CollectiveCall call{wire::Collective::open, &next, nullptr, 1, wire::DType::uint32};
    call.array = wire::kModelStep;
    start(call).wait();
    return next == 0 ? std::nullopt : std::optional(next - 1);
  }
  // `data` becomes the array's parameters. If the model has none yet, they are `root`'s
  // values.
  Request open_model(void* data, std::size_t count, std::uint16_t array, std::uint32_t root = 0) {
    CollectiveCall call{wire::Collective::open, data, nullptr, count, wire::DType::float32};
    call.root = root;
    call.array = array;
    return start(call);
  }
  // `data`: this rank's gradients; becomes the array's parameters after an optimizer step by the
  // gradients' sum or mean.
  Request update_model(void* data, std::size_t count, std::uint16_t array,
                       wire::ReduceOp op = wire::ReduceOp::sum) {
    CollectiveCall call{wire::Collective::update, data, nullptr, count, wire::DType::float32, op};
    call.array = array;
    return start(call);
  }
  // Done when every rank has issued it, and all ops before it.
  Request barrier_async() { return start({wire::Collective::barrier}); }
  void barrier() { barrier_async().wait(); }

  // Memory of zeros for arrays, as long as the pointer lives. With address bits, its low bits are
  // the same on all ranks if every rank makes the same calls in the same order; arrays take turns
  // over the switches, block by block. Does not wait. Throws std::bad_alloc.
  virtual std::shared_ptr<std::byte[]> allocate(std::size_t bytes) = 0;

  // Elastic jobs (docs/protocol/resize.md): from the next op on the job has `size` ranks, from 0 to
  // size - 1. Every rank calls it between the same two ops, with the same size, while no other
  // thread uses the communicator; new ranks call create() with that size. Ops in flight are done
  // first. Waits for all ranks. Returns false if this rank is not among them: it has left. Throws
  // std::invalid_argument if the job cannot have that size, and CommunicatorError if the ranks want
  // different ones; in both cases the job goes on as it was. After any other CommunicatorError the
  // communicator cannot be used any more.
  virtual bool resize(std::uint32_t size) = 0;

  // Data by name (docs/names.md), in a job with `names`. A name is "TENSOR/v=VERSION", maybe with
  // "/worker=RANK" behind it, and with "/job/JOB/run=RUN/" before it: by default this job and
  // run(). Any rank may call either at any time, in no order with ops, and also after the epoch has
  // been aborted. A name has one value for good. Both wait, for at most `limit`, and throw
  // CommunicatorError, or std::invalid_argument for a bad name.
  //
  // Gives the value to the switches, which keep it; so does this process, until it is destroyed.
  virtual void put(const std::string& name, std::span<const std::byte> value,
                   Duration limit = Duration::seconds(10)) = 0;
  // From the next cache that has it, or from its producer. With "/seg=N" behind the version: that
  // segment alone.
  virtual std::vector<std::byte> get(const std::string& name,
                                     Duration limit = Duration::seconds(10)) = 0;
  // This incarnation of the job, equal on every rank.
  [[nodiscard]] virtual std::string run() const = 0;

  [[nodiscard]] virtual std::uint32_t job() const = 0;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual std::uint16_t epoch() const = 0;
  [[nodiscard]] virtual CommunicatorStats stats() const = 0;
  // Zeros unless CommunicatorOptions::stages was set.
  [[nodiscard]] virtual CommunicatorStages stages() const { return {}; }
  // True if the job's integer sums wrap; false if a sum that leaves its type's range fails.
  [[nodiscard]] virtual bool modular() const = 0;

 protected:
  Communicator() = default;
};

}  // namespace tributary
