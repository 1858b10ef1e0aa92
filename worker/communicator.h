// The worker library's C++ API: join a job, reduce arrays with the other ranks, leave.
//
//   auto comm = Communicator::create({.job = 1, .rank = 0, .size = 4,
//                                     .address = "udp://10.77.0.254"});
//   comm->allreduce(values.data(), values.size(), DType::float32, ReduceOp::sum).wait();
//
// Ranks must issue the same ops in the same order. Thread-safe: any thread may submit and wait;
// ops run in submission order. One progress thread per communicator does all I/O and sleeps
// when there is nothing to do. A communicator does not survive fork(): in the child its calls
// throw std::logic_error and its destructor only forgets it; the parent's goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

struct CommunicatorOptions {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string address = {};                       // see worker/transport.h
  Duration join_timeout = Duration::seconds(60);  // for all ranks to appear
  Duration op_timeout = Duration::seconds(60);    // from the op's turn to its last result
  // If set, create() asks it every 50 ms while it waits; true ends it with a CommunicatorError.
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

  struct State;
  explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
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

  // In place: `data` holds `count` elements, must stay valid until the request is done, and then
  // holds the result. Unsupported pairs throw std::invalid_argument here.
  virtual Request allreduce(void* data, std::size_t count, wire::DType dtype,
                            wire::ReduceOp op) = 0;
  // Done when every rank has issued it, and all ops before it.
  virtual Request barrier_async() = 0;
  void barrier() { barrier_async().wait(); }

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual std::uint16_t epoch() const = 0;
  [[nodiscard]] virtual CommunicatorStats stats() const = 0;

 protected:
  Communicator() = default;
};

}  // namespace tributary
