#include "worker/python/communicator.h"

#include <cmath>
#include <limits>
#include <optional>

#include "worker/python/array_view.h"

namespace py = pybind11;

namespace tributary::python {
namespace {

// A signal ends a wait at once where it interrupts the waiting thread, and after this elsewhere.
constexpr Duration kSignalPeriod = Duration::ms(100);
constexpr double kMaxTimeoutSeconds = 1e6;

std::string text_of(py::handle object) {
  return py::str(object);
}

void wait_for(Request& request) {
  for (;;) {
    {
      const py::gil_scoped_release released;
      if (request.wait_for(kSignalPeriod)) return;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

std::uint32_t u32_of(const char* name, const py::int_& value) {
  constexpr long long kMax = std::numeric_limits<std::uint32_t>::max();
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0 || v < 0 || v > kMax)
    throw py::value_error(std::string(name) + " is " + text_of(value) + "; allowed are 0 to " +
                          std::to_string(kMax));
  return static_cast<std::uint32_t>(v);
}

Duration seconds_of(const char* name, double seconds) {
  if (!(seconds > 0 && seconds <= kMaxTimeoutSeconds))
    throw py::value_error(std::string(name) + " is " + text_of(py::float_(seconds)) +
                          "; it is in seconds, above 0 and at most 1e6");
  return Duration::ns(std::llround(std::ceil(seconds * 1e9)));
}

}  // namespace

py::array PyRequest::wait() {
  wait_for(request_);
  return array_;
}

PyCommunicator::PyCommunicator(const CommunicatorOptions& options)
    : rank_(options.rank), size_(options.size) {
  std::optional<py::error_already_set> raised;
  CommunicatorOptions cancellable = options;
  cancellable.cancelled = [&raised] {
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return false;
    raised.emplace();
    return true;
  };
  try {
    const py::gil_scoped_release released;
    communicator_ = Communicator::create(cancellable);
  } catch (const CommunicatorError&) {
    if (raised) throw *raised;
    throw;
  }
}

PyCommunicator::~PyCommunicator() {
  close();
}

PyRequest PyCommunicator::allreduce(const py::object& object, const std::string& op_name) {
  const auto communicator = open();
  const wire::ReduceOp op = reduce_op_of(op_name);
  const ArrayView view = view_of(object);
  forget_finished();
  Request request;
  {
    const py::gil_scoped_release released;
    request = communicator->allreduce(view.data, view.count, view.dtype, op);
  }
  in_flight_.push_back({request, view.array});
  return {std::move(request), view.array};
}

void PyCommunicator::barrier() {
  const auto communicator = open();
  Request request;
  {
    const py::gil_scoped_release released;
    request = communicator->barrier_async();
  }
  wait_for(request);
  forget_finished();
}

// Ops finish in order, but for the few that fail.
void PyCommunicator::forget_finished() {
  while (!in_flight_.empty() && in_flight_.front().request.done()) in_flight_.pop_front();
}

void PyCommunicator::close() {
  auto communicator = std::exchange(communicator_, nullptr);
  if (communicator) {
    const py::gil_scoped_release released;
    communicator.reset();
  }
  in_flight_.clear();
}

std::shared_ptr<Communicator> PyCommunicator::open() const {
  if (!communicator_)
    throw CommunicatorError(wire::Reason::none, {}, "this communicator has been closed");
  return communicator_;
}

py::dict PyCommunicator::stats() const {
  const CommunicatorStats s = open()->stats();
  py::dict out;
  out["ops"] = s.ops;
  out["contributions"] = s.contributions;
  out["contribution_bytes"] = s.contribution_bytes;
  out["results"] = s.results;
  out["result_bytes"] = s.result_bytes;
  out["duplicate_results"] = s.duplicate_results;
  out["probes"] = s.probes;
  out["resends"] = s.resends;
  out["pending_replies"] = s.pending_replies;
  out["unknown_replies"] = s.unknown_replies;
  out["drops"] = s.drops;
  out["smoothed_rtt_ns"] = s.smoothed_rtt_ns;
  return out;
}

std::unique_ptr<PyCommunicator> init(const py::int_& job, const py::int_& rank,
                                     const py::int_& size, const std::string& address,
                                     double join_timeout, double op_timeout) {
  CommunicatorOptions options;
  options.job = u32_of("job", job);
  options.rank = u32_of("rank", rank);
  options.size = u32_of("size", size);
  options.address = address;
  options.join_timeout = seconds_of("join_timeout", join_timeout);
  options.op_timeout = seconds_of("op_timeout", op_timeout);
  return std::make_unique<PyCommunicator>(options);
}

}  // namespace tributary::python
