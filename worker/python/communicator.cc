#include "worker/python/communicator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "worker/python/gil.h"
#include "worker/python/named_values.h"

namespace py = pybind11;

namespace tributary::python {
namespace {

// A signal ends a wait at once if it interrupts the waiting thread, and after this time elsewhere.
constexpr Duration kSignalPeriod = Duration::ms(100);
constexpr double kMaxTimeoutSeconds = 1e6;

std::string text_of(py::handle object) {
  return py::str(object);
}

// Returns false if it is not done after `limit`; without a limit, waits until it is.
bool wait_for(Request& request, std::optional<Duration> limit = {}) {
  const auto left = [limit, begin = std::chrono::steady_clock::now()] {
    if (!limit) return kSignalPeriod;
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin;
    return std::min(kSignalPeriod, *limit - Duration::ns(waited.count()));
  };
  bool raised = false;
  bool done = false;
  {
    ReleasedGil released;
    for (Duration step = left(); !raised && !done; step = left()) {
      done = request.wait_for(std::max(step, Duration()));
      if (!done && step <= Duration()) break;
      raised = !done && released.signal_raised();
    }
  }
  if (raised) throw py::error_already_set();
  return done;
}

void check_timeout(std::optional<double> timeout) {
  if (timeout && !(*timeout >= 0 && *timeout <= kMaxTimeoutSeconds))
    throw py::value_error("timeout is " + text_of(py::float_(*timeout)) +
                          "; it is in seconds, 0 to 1e6, or None");
}

// TimeoutError after so many seconds; None: waits as long as it takes.
void wait_at_most(Request& request, std::optional<double> timeout, const std::string& what,
                  const std::string& then) {
  check_timeout(timeout);
  if (!timeout) {
    wait_for(request);
    return;
  }
  if (wait_for(request, Duration::ns(std::llround(*timeout * 1e9)))) return;
  const std::string text =
      what + " is not done after " + text_of(py::float_(*timeout)) + " s; " + then;
  PyErr_SetString(PyExc_TimeoutError, text.c_str());
  throw py::error_already_set();
}

// The lock that this thread's call into the library has released.
thread_local ReleasedGil* waiting_call = nullptr;

// Runs a call that checks CommunicatorOptions::cancelled while it waits, without the interpreter's
// lock. Throws what the call throws, or what a signal handler raised.
template <typename Call>
void interruptible(Call call) {
  try {
    ReleasedGil released;
    waiting_call = &released;
    call();
  } catch (const CommunicatorError&) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    throw;
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

ArrayView array_of_u32() {
  ArrayView view;
  view.array = py::array_t<std::uint32_t>(1);
  view.dtype = wire::DType::uint32;
  view.data = view.array.mutable_data();
  view.count = 1;
  return view;
}

void check_output(const ArrayView& output, wire::DType dtype, std::size_t count) {
  if (output.dtype != dtype || output.count != count)
    throw py::value_error("the output has " + std::to_string(output.count) + " elements of " +
                          wire::name_of(output.dtype) + "; " + std::to_string(count) + " of " +
                          wire::name_of(dtype) + " are needed");
}

Retry retry_of(const std::optional<std::string>& text) {
  if (!text) return Retry::by_environment;
  if (*text == "none") return Retry::none;
  if (*text == "ops") return Retry::ops;
  throw py::value_error("retry '" + *text + "': allowed are \"none\", \"ops\" and None");
}

// A put that meets a busy switch must not hold a caller for ever.
constexpr Duration kLongestPut = Duration::seconds(10);

}  // namespace

py::object PyRequest::wait(std::optional<double> timeout) {
  const auto began = std::chrono::steady_clock::now();
  wait_at_most(request_, timeout, "the operation", "it goes on, and its array is in use");
  if (name_.empty()) return result_;
  Duration limit = kLongestPut;
  if (timeout) {
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - began;
    const Duration left = Duration::ns(std::llround(*timeout * 1e9) - taken.count());
    limit = std::clamp(left, Duration::ms(1), kLongestPut);
  }
  put_result(limit);
  return result_;
}

void PyRequest::put_result(Duration limit) {
  const auto communicator = publisher_.lock();
  if (!communicator)
    throw CommunicatorError(wire::Reason::none, {},
                            "the sum has no name: this communicator has been closed");
  const py::bytes bytes = to_value(result_);
  const auto view = static_cast<std::string_view>(bytes);
  interruptible(
      [&] { communicator->put(name_, std::as_bytes(std::span(view.data(), view.size())), limit); });
  name_.clear();
}

Outcome PyRequest::outcome() {
  wait_for(request_);
  return request_.outcome();
}

py::list PyRequest::parts() {
  py::list parts;
  for (const auto& part : outcome().parts)
    parts.append(py::make_tuple(part.begin, part.count, part.counted));
  return parts;
}

py::array PyRequest::divide() {
  if (!py::isinstance<py::array>(result_))
    throw py::type_error(
        "divide() is for a call with one array; parts counts through the arrays of a list in "
        "order");
  auto array = py::cast<py::array>(result_);
  outcome().divide(array.mutable_data(), dtype_);
  return array;
}

PyCommunicator::PyCommunicator(const CommunicatorOptions& options) {
  CommunicatorOptions cancellable = options;
  cancellable.cancelled = [] { return waiting_call->signal_raised(); };
  interruptible([&] { communicator_ = Communicator::create(cancellable); });
  job_ = communicator_->job();
  rank_ = communicator_->rank();
  size_ = communicator_->size();
}

PyCommunicator::~PyCommunicator() {
  close();
}

PyRequest PyCommunicator::start(CollectiveCall call, const ArrayView& input,
                                const ArrayView& result) {
  const auto communicator = open();
  call.data = input.data;
  call.dtype = input.dtype;
  forget_finished();
  Request request;
  interruptible([&] { request = communicator->start(call); });
  in_flight_.push_back({request, input.array, result.array});
  return {std::move(request), result.array, result.dtype};
}

PyRequest PyCommunicator::start_in_place(CollectiveCall call, const Arrays& arrays) {
  if (!arrays.is_list) {
    call.count = arrays.views.front().count;
    return start(call, arrays.views.front(), arrays.views.front());
  }
  const auto communicator = open();
  call.dtype = arrays.dtype();
  forget_finished();
  Request request;
  const std::vector<ArrayPart> parts = arrays.parts();
  interruptible([&] { request = communicator->start(call, parts); });
  in_flight_.push_back({request, arrays.object, arrays.object});
  return {std::move(request), arrays.object, call.dtype};
}

PyRequest PyCommunicator::allreduce(const py::object& array, const std::string& op,
                                    const py::object& dtype, const std::string& encoding,
                                    std::optional<int> scale_exponent,
                                    const std::optional<std::string>& name) {
  if (name) check_sum_name(*name, job_);
  CollectiveCall call;
  call.scale_exponent = scale_exponent;
  call.op = reduce_op_of(op);
  if (encoding == "block-scaled")
    call.encoding = wire::Encoding::block_scaled;
  else if (encoding != "plain")
    throw py::value_error("encoding '" + encoding +
                          "' is unknown; allowed are plain and block-scaled");
  const Arrays arrays = arrays_of(array, dtype, Access::write);
  if (name && arrays.is_list)
    throw py::value_error("a sum of a list of arrays gets no name; allowed: one array");
  PyRequest request = start_in_place(call, arrays);
  // All ranks have the same bits, so one of them is enough.
  if (name && rank_ == 0) request.publish(communicator_, *name);
  return request;
}

PyRequest PyCommunicator::reduce(const py::object& array, std::uint32_t root, const std::string& op,
                                 const py::object& dtype) {
  CollectiveCall call;
  call.collective = wire::Collective::reduce;
  call.op = reduce_op_of(op);
  call.root = root;
  return start_in_place(call,
                        arrays_of(array, dtype, root == rank_ ? Access::write : Access::read));
}

PyRequest PyCommunicator::broadcast(const py::object& array, std::uint32_t root,
                                    const py::object& dtype) {
  CollectiveCall call;
  call.collective = wire::Collective::broadcast;
  call.root = root;
  return start_in_place(call,
                        arrays_of(array, dtype, root == rank_ ? Access::read : Access::write));
}

PyRequest PyCommunicator::all_gather(const py::object& input, const py::object& output,
                                     const py::object& dtype) {
  CollectiveCall call;
  call.collective = wire::Collective::all_gather;
  const ArrayView in = view_of(input, dtype, Access::read);
  std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(size_)};
  shape.insert(shape.end(), in.array.shape(), in.array.shape() + in.array.ndim());
  const ArrayView out =
      output.is_none() ? array_like(in, shape) : view_of(output, dtype, Access::write);
  call.count = in.count;
  check_output(out, in.dtype, in.count * size_);
  call.output = out.data;
  return start(call, in, out);
}

PyRequest PyCommunicator::reduce_scatter(const py::object& input, const py::object& output,
                                         const std::string& op, const py::object& dtype) {
  CollectiveCall call;
  call.collective = wire::Collective::reduce_scatter;
  call.op = reduce_op_of(op);
  const ArrayView in = view_of(input, dtype, Access::read);
  if (in.count % size_ != 0)
    throw py::value_error("reduce_scatter of " + std::to_string(in.count) + " elements over " +
                          std::to_string(size_) + " ranks; the parts must be equal");
  call.count = in.count / size_;
  std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(call.count)};
  // An array with a row for each rank results in one row.
  if (in.array.ndim() > 0 && in.array.shape(0) == static_cast<py::ssize_t>(size_))
    shape.assign(in.array.shape() + 1, in.array.shape() + in.array.ndim());
  const ArrayView out =
      output.is_none() ? array_like(in, shape) : view_of(output, dtype, Access::write);
  check_output(out, in.dtype, call.count);
  call.output = out.data;
  return start(call, in, out);
}

PyRequest PyCommunicator::open_model(const py::object& array, std::uint16_t number,
                                     std::uint32_t root) {
  CollectiveCall call;
  call.collective = wire::Collective::open;
  call.root = root;
  call.array = number;
  const ArrayView view = view_of(array, py::none(), Access::write);
  call.count = view.count;
  return start(call, view, view);
}

PyRequest PyCommunicator::update_model(const py::object& array, std::uint16_t number,
                                       const std::string& op) {
  CollectiveCall call;
  call.collective = wire::Collective::update;
  call.op = reduce_op_of(op);
  call.array = number;
  const ArrayView view = view_of(array, py::none(), Access::write);
  call.count = view.count;
  return start(call, view, view);
}

std::optional<std::uint32_t> PyCommunicator::model_step() {
  const ArrayView next = array_of_u32();
  CollectiveCall call;
  call.collective = wire::Collective::open;
  call.array = wire::kModelStep;
  call.count = 1;
  start(call, next, next).wait({});
  const auto value = *static_cast<const std::uint32_t*>(next.data);
  return value == 0 ? std::nullopt : std::optional(value - 1);
}

bool PyCommunicator::resize(const py::int_& size) {
  const auto communicator = open();
  const std::uint32_t wanted = u32_of("size", size);
  bool stays = false;
  interruptible([&] { stays = communicator->resize(wanted); });
  size_ = communicator->size();
  return stays;
}

void PyCommunicator::barrier(std::optional<double> timeout) {
  const auto communicator = open();
  check_timeout(timeout);
  Request request;
  interruptible([&] { request = communicator->barrier_async(); });
  wait_at_most(request, timeout, "the barrier", "it goes on");
  forget_finished();
}

py::array PyCommunicator::allocate(const py::object& shape, const py::object& dtype) {
  const auto communicator = open();
  return array_in([&](std::size_t bytes) { return communicator->allocate(bytes); }, shape, dtype);
}

void PyCommunicator::put(const std::string& name, const py::object& value, double timeout) {
  const auto communicator = open();
  const Duration limit = seconds_of("timeout", timeout);
  const py::bytes bytes = to_value(value);
  const auto view = static_cast<std::string_view>(bytes);
  interruptible(
      [&] { communicator->put(name, std::as_bytes(std::span(view.data(), view.size())), limit); });
}

py::object PyCommunicator::get(const std::string& name, double timeout) {
  const auto communicator = open();
  const Duration limit = seconds_of("timeout", timeout);
  std::vector<std::byte> value;
  interruptible([&] { value = communicator->get(name, limit); });
  return from_value(value);
}

// Ops finish in order, except for the few that fail.
void PyCommunicator::forget_finished() {
  while (!in_flight_.empty() && in_flight_.front().request.done()) in_flight_.pop_front();
}

void PyCommunicator::close() {
  auto communicator = std::exchange(communicator_, nullptr);
  if (communicator) {
    const ReleasedGil released;
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
  out["float_retries"] = s.float_retries;
  out["degraded_results"] = s.degraded_results;
  out["marked_results"] = s.marked_results;
  out["reported_marks"] = s.reported_marks;
  out["window_decreases"] = s.window_decreases;
  out["least_window"] = s.least_window;
  out["asked_results"] = s.asked_results;
  out["retries"] = s.retries;
  return out;
}

OpenOptions open_job(const std::string& by, const OptionalInt& units, const OptionalInt& nodes,
                     const OptionalInt& window, const OptionalInt& chunk_bytes) {
  OpenOptions open{.by = open_of(by)};
  if (units) open.units = u32_of("units", *units);
  if (nodes) open.nodes = u32_of("nodes", *nodes);
  if (window) open.window = u32_of("window", *window);
  if (chunk_bytes) open.chunk_bytes = u32_of("chunk_bytes", *chunk_bytes);
  return open;
}

std::unique_ptr<PyCommunicator> init(const py::int_& job, const OptionalInt& rank,
                                     const OptionalInt& size,
                                     const std::optional<std::string>& address, double join_timeout,
                                     double op_timeout, const py::int_& loss_group,
                                     const std::string& host_config, const std::string& host_node,
                                     bool at_host, const std::optional<std::string>& retry,
                                     double retry_timeout, bool fail_if_taken,
                                     const std::string& run, const OptionalBits& address_bits,
                                     const worker::ManagedJob& managed, const OpenOptions& open) {
  CommunicatorOptions options;
  options.managed = managed;
  options.job = u32_of("job", job);
  if (managed.manager.empty() && rank.has_value() != size.has_value())
    throw py::value_error(std::string(rank ? "size" : "rank") + " is None; give both of rank and " +
                          "size, or neither: then the launcher's are read from the environment");
  if (rank) options.rank = u32_of("rank", *rank);
  if (rank && !managed.manager.empty()) options.managed.rank = options.rank;
  if (size) options.size = u32_of("size", *size);
  if (size && options.size == 0)
    throw py::value_error("rank " + text_of(*rank) + " of size 0: size is at least 1");
  options.address = address.value_or("");
  options.join_timeout = seconds_of("join_timeout", join_timeout);
  options.op_timeout = seconds_of("op_timeout", op_timeout);
  options.loss_group = u32_of("loss_group", loss_group);
  options.host_config = host_config;
  options.host_node = host_node;
  options.at_host = at_host;
  options.fail_if_taken = fail_if_taken;
  options.retry = retry_of(retry);
  options.retry_timeout = seconds_of("retry_timeout", retry_timeout);
  options.run = run;
  if (address_bits)
    options.address_bits = {u32_of("low of address_bits", address_bits->first),
                            u32_of("count of address_bits", address_bits->second)};
  options.open = open;
  return std::make_unique<PyCommunicator>(options);
}

}  // namespace tributary::python
