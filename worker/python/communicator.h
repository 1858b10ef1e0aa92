// The communicator and its requests as Python objects: the C++ API, plus what Python needs.
//
// The GIL is released while waiting, joining and submitting. Waits check for signals, so that
// Ctrl-C works. An array stays referenced until its op is done, even if the caller drops both the
// array and the request.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker/api/communicator.h"
#include "worker/python/array_view.h"

namespace tributary::python {

using OptionalInt = std::optional<pybind11::int_>;
using OptionalBits = std::optional<std::pair<pybind11::int_, pybind11::int_>>;

class PyRequest {
 public:
  PyRequest(Request request, pybind11::object result, wire::DType dtype)
      : request_(std::move(request)), result_(std::move(result)), dtype_(dtype) {}

  // Returns the array, or the arrays, which then hold the result. `timeout`: seconds, after which
  // it throws TimeoutError.
  pybind11::object wait(std::optional<double> timeout);
  [[nodiscard]] bool done() const { return request_.done(); }
  // Also waits for the op.
  Outcome outcome();
  pybind11::list parts();
  pybind11::array divide();
  // wait() also puts the result under this name, until that succeeded once.
  void publish(std::weak_ptr<Communicator> by, std::string name) {
    publisher_ = std::move(by);
    name_ = std::move(name);
  }

 private:
  void put_result(Duration limit);

  Request request_;
  pybind11::object result_;
  wire::DType dtype_;
  std::weak_ptr<Communicator> publisher_;
  std::string name_;  // empty: the result gets none
};

class PyCommunicator {
 public:
  explicit PyCommunicator(const CommunicatorOptions& options);
  ~PyCommunicator();
  PyCommunicator(const PyCommunicator&) = delete;
  PyCommunicator& operator=(const PyCommunicator&) = delete;

  // `array`: an array, or a list of them, as in reduce() and broadcast().
  PyRequest allreduce(const pybind11::object& array, const std::string& op,
                      const pybind11::object& dtype, const std::string& encoding,
                      std::optional<int> scale_exponent, const std::optional<std::string>& name);
  PyRequest reduce(const pybind11::object& array, std::uint32_t root, const std::string& op,
                   const pybind11::object& dtype);
  PyRequest broadcast(const pybind11::object& array, std::uint32_t root,
                      const pybind11::object& dtype);
  PyRequest all_gather(const pybind11::object& input, const pybind11::object& output,
                       const pybind11::object& dtype);
  PyRequest reduce_scatter(const pybind11::object& input, const pybind11::object& output,
                           const std::string& op, const pybind11::object& dtype);
  PyRequest open_model(const pybind11::object& array, std::uint16_t number, std::uint32_t root);
  PyRequest update_model(const pybind11::object& array, std::uint16_t number,
                         const std::string& op);
  // None if the model has no parameters yet.
  [[nodiscard]] std::optional<std::uint32_t> model_step();
  // TimeoutError after that many seconds; the barrier goes on.
  void barrier(std::optional<double> timeout);
  // False: this rank is not in the job any more.
  bool resize(const pybind11::int_& size);
  // An array of zeros in memory whose low address bits are the same on all ranks.
  pybind11::array allocate(const pybind11::object& shape, const pybind11::object& dtype);
  // Data by name. Arrays travel as .npy files, bytes as they are.
  void put(const std::string& name, const pybind11::object& value, double timeout);
  pybind11::object get(const std::string& name, double timeout);
  [[nodiscard]] std::string run() const { return open()->run(); }
  // Leaves the job; open ops fail. A second call does nothing.
  void close();
  [[nodiscard]] pybind11::dict stats() const;
  [[nodiscard]] std::uint32_t job() const { return job_; }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint16_t epoch() const { return open()->epoch(); }
  [[nodiscard]] bool closed() const { return communicator_ == nullptr; }

 private:
  struct InFlight {
    Request request;
    pybind11::object input;
    pybind11::object result;
  };

  // Throws if closed. Shared, so that another thread's close() waits for a call in progress.
  [[nodiscard]] std::shared_ptr<Communicator> open() const;
  PyRequest start(CollectiveCall call, const ArrayView& input, const ArrayView& result);
  PyRequest start_in_place(CollectiveCall call, const Arrays& arrays);
  void forget_finished();

  std::uint32_t job_ = 0;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 0;
  std::shared_ptr<Communicator> communicator_;
  std::deque<InFlight> in_flight_;
};

// Arguments of init() for a job that the switch learns from its ranks. Throws ValueError.
OpenOptions open_job(const std::string& by, const OptionalInt& units, const OptionalInt& nodes,
                     const OptionalInt& window, const OptionalInt& chunk_bytes);

// Checks the arguments, joins, waits for all ranks. Throws ValueError, tributary.Error, or what a
// signal handler raised. rank and size None: from the launcher's environment; address None:
// TRIBUTARY_ADDRESS.
std::unique_ptr<PyCommunicator> init(const pybind11::int_& job, const OptionalInt& rank,
                                     const OptionalInt& size,
                                     const std::optional<std::string>& address, double join_timeout,
                                     double op_timeout, const pybind11::int_& loss_group,
                                     const std::string& host_config, const std::string& host_node,
                                     bool at_host, const std::optional<std::string>& retry,
                                     double retry_timeout, bool fail_if_taken,
                                     const std::string& run, const OptionalBits& address_bits,
                                     const worker::ManagedJob& managed, const OpenOptions& open);

}  // namespace tributary::python
