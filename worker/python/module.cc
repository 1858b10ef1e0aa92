// The module tributary._native, which the package `tributary` exposes under its own name: names,
// docstrings, exceptions. tributary/__init__.pyi repeats the signatures for type checkers;
// tests/python compares the two.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <system_error>
#include <utility>

#include "worker/manager/manager_library.h"
#include "worker/python/communicator.h"
#include "worker/python/layout.h"

namespace py = pybind11;

namespace tributary::python {
namespace {

constexpr const char* kErrorDoc =
    R"(A job or an operation failed; the text says which, where and why.

reason: what the switch, or a timeout, gave as the cause, for example "rank-left" or
    "lease-expired"; None for local errors and timeouts without an answer.
missing_ranks: the ranks concerned, as a list of int; may be empty.

After an error of an operation the communicator is of no more use: close it, and init() again on
every rank.)";

constexpr const char* kInitDoc =
    R"(Joins a job and returns when all its ranks have joined.

job: the job's id, as the switch is configured.
rank, size: 0 to size - 1, and the number of ranks. Every rank joins once. None: what torchrun (RANK,
    WORLD_SIZE), mpirun or Slurm say in the environment.
address: "udp://SWITCH_IPV4[:BASE_PORT]", the same with rdma://, or
    "memif:///SOCKET_PATH[?id=N&switch=IPV4&port=BASE_PORT&ip=OWN_IPV4]", where the switch tells the
    first three unless they are there. {rank} in it is the rank.
    Several, separated by commas, the same on every rank: switches that share the work of each op.
    None: TRIBUTARY_ADDRESS of the environment.
join_timeout: seconds until all ranks must have joined.
op_timeout: seconds from an operation's turn to its last result.
loss_group: how losses are found. 0: each chunk has its own timer. N, a power of two up to 4096: in
    groups of N consecutive chunks of a shard, whose missing ones are asked for together.
host_config, host_node: if set, this process also hosts completion engines until close(): a server's
    file, or a topology and the name of a server or worker in it.
at_host: the job's completion host, a parameter server where it names one, sums what this rank sends,
    and no switch does.
retry: "ops": operations of an epoch that a dead switch or link has ended are done again in another
    one, exactly once for this program, and equally on all ranks; all of them say so. "none": they
    fail. None: TRIBUTARY_RETRY of the environment, or "none".
retry_timeout: seconds for all ranks to meet again.
fail_if_taken: another process that has this rank may be about to end, so init() says so on stderr and
    waits for that, until join_timeout. True: it fails as soon as that process has answered the switch.
run: equal on all ranks of one start of a program, and another at its next start. Ranks of two starts
    form no epoch, but the later ones wait until the earlier ones have gone. "": TRIBUTARY_RUN of the
    environment; without it, ranks of any run may meet.
address_bits: (low, count), for several switches: count bits of an array's address, from bit low on,
    choose the switch of each chunk. Operations then need arrays whose lowest low + count address bits
    are the same on all ranks, as allocate() gives them. Equal on all ranks. None:
    TRIBUTARY_ADDRESS_BITS of the environment, "LOW,COUNT"; without it each switch gets a run of an
    operation's chunks, wherever the array is.
open: the switch need not have the job (switch.open_jobs), and learns it from its ranks. "inline": from
    each rank as it joins. "control": from the first unit of each node, and the others wait. "wait":
    this rank brings nothing. None: the switch has the job.
units: of a node, with open; rank r is unit r % units of node r // units.
nodes: with open; None: size / units, and with units None: one node.
window: chunks in flight, with open; None: 64.
chunk_bytes: of a packet, with open; None: 1024.

Raises ValueError for bad arguments, tributary.Error if the job cannot be joined. Ctrl-C works.)";

constexpr const char* kAllreduceDoc =
    R"(Starts reducing `array` over all ranks, in place; returns a Request.

array: numpy.ndarray, any shape, C-contiguous and writeable; the same number of elements and the
    same dtype on every rank: int8, int16, int32, int64, uint8, uint32, uint64, float16, float32,
    float64 or bool. Don't touch it before the request is done: then it holds the result. It is
    kept alive until then. What overlaps an array of an operation in flight is refused, unless both
    only read it. Or a list of arrays of one dtype, which are summed as if they were one, in one
    operation; only the number of elements in all is the same on every rank.
op: "sum", "mean", "prod", "min" or "max"; for integers and bool also "band", "bor", "bxor", "land",
    "lor", "lxor". Integers have no "mean", bool has no "sum", "mean" and "prod".
dtype: "bfloat16" for an array of uint16 that holds the bits of bfloat16.
encoding: "block-scaled" sums float32 as integers under common exponents: every rank gets the same
    bits in whatever order data arrives.
scale_exponent: of "block-scaled": values are rounded to multiples of 2**scale_exponent, the same on
    every rank, and what overflows is summed again as floats. None: the ranks agree on exponents
    with which nothing overflows, in an exchange before.
name: what put() takes, without a worker: wait() of rank 0 puts the sum under it, before it returns.
    A tributary.Error of the put leaves the sum in place, and another wait() tries again.

Any number of operations may be in flight; they run in the order of the calls. Raises TypeError or
ValueError for what is not supported, tributary.Error if the job has failed. A sum of integers that
leaves their range makes wait() raise tributary.OverflowError, unless the job's arithmetic is
modular.)";

constexpr const char* kReduceDoc =
    R"(As allreduce(), but only rank `root` gets the result; the others' arrays stay as they are.)";

constexpr const char* kBroadcastDoc =
    R"(Starts sending rank `root`'s array to all others, into theirs; returns a Request.

`array` may be a list, as in allreduce(). All arrays have the same number of elements and the same dtype, as in allreduce().)";

constexpr const char* kAllGatherDoc =
    R"(Starts gathering every rank's `array` on all ranks; returns a Request for the output.

output: array of size x array.size elements that gets them, rank by rank; None makes one of the
    shape (size, *array.shape). `array` may be this rank's part of it; it may not overlap it
    elsewhere. With address_bits, its address chooses: pass an array of allocate().)";

constexpr const char* kReduceScatterDoc =
    R"(Starts reducing `array` over all ranks, each of which gets one part of the result.

array: size equal parts; the same number of elements on every rank.
output: array of array.size / size elements for this rank's part; None makes one, of the shape
    array.shape[1:] where array.shape[0] is the number of ranks, otherwise of one dimension. It may
    be this rank's part of `array`, or its head; it may not overlap it elsewhere.
op, dtype: as in allreduce().)";

constexpr const char* kWaitDoc =
    R"(Blocks until the operation is done and returns the array that holds the result; of a list, a
tuple of them.

timeout: seconds; then it raises TimeoutError, the operation goes on, and the array stays in use. None:
    as long as it takes.

Raises tributary.Error if the operation failed; the array's contents are then undefined. May be
called again. Ctrl-C interrupts the wait, not the operation.)";

constexpr const char* kDegradedDoc =
    R"(Whether the result lacks ranks that were late; waits, as wait() does.

Only where the job allows it (`stragglers.degraded_after`). All ranks, the late ones included, hold the
same result and the same list of who is missing.)";

constexpr const char* kPartsDoc =
    R"(How many ranks are inside of which elements: a list of (begin, count, counted).

The flat elements of the result that this rank gets, in order, from begin on. Each chunk may lack
other ranks. Waits, as wait() does.)";

constexpr const char* kDivideDoc =
    R"(Makes of a sum the mean of the ranks inside of each element; returns the array.

In place, for op "sum" and floats. Call it once. Waits, as wait() does.)";

constexpr const char* kOpenModelDoc =
    R"(Starts opening array `number` of the model at the job's parameter server; returns a Request.

array: float32; becomes the parameters that the server has. Where it has none yet, those are what
    `array` holds on rank `root`.

Every rank opens every array once after init(), before it updates them.)";

constexpr const char* kUpdateModelDoc =
    R"(Starts a step of the server's optimizer for array `number` of the model; returns a Request.

array: float32, this rank's gradients; becomes the parameters after the step.
op: how the ranks' gradients are combined: "sum" or "mean".

Each step updates every array once. Raises tributary.Error with reason "model-lost" where the server
cannot continue the model that these are gradients of (it was restarted): init() again, ask for
model_step(), and go on from there.)";

constexpr const char* kModelStepDoc =
    R"(How many steps the model at the parameter server has behind it; None: it has no parameters yet.

Every rank calls it, and it waits for all.)";

constexpr const char* kBarrierDoc =
    R"(Returns when every rank has called it, and all operations before it are done.

timeout: seconds; then it raises TimeoutError, and the barrier goes on. None: as long as it takes.

Raises tributary.Error if the job has failed.)";

constexpr const char* kResizeDoc =
    R"(Changes how many ranks the job has, from the next operation on.

size: the new number; the job must allow it (min_workers to workers at its switch). Every rank calls
    it between the same two operations, with the same size; new ranks call init() with that size.

Waits for all, and returns True. On a rank that is `size` or more it returns False: the rank has
left, and only close() follows.

Raises ValueError if the job cannot have that size, and tributary.Error if the ranks want different
ones: the job then goes on as it was. After any other tributary.Error it cannot be used any more.)";

constexpr const char* kAllocateDoc =
    R"(Returns an array of zeros. With address_bits, its low address bits are the same on all ranks.

shape, dtype: as in numpy.empty(); a dtype that operations take, or uint16.

Every rank makes the same calls in the same order; arrays take turns over the switches, block by
block. Does not wait.)";

constexpr const char* kPutDoc =
    R"(Gives a value a name, under which every rank, and hosts that the job allows, can get() it.

name: "TENSOR/v=VERSION", maybe with "/worker=RANK" behind it, and "/job/JOB/run=RUN/" before it;
    by default this job, in this run. A name has one value for good.
value: an array, or bytes. The switches keep it, and this process answers for it until close().
timeout: seconds.

No collective: any rank, at any time, and in any order. Raises ValueError for a bad name,
tributary.Error with reason "name-taken" if the name has another value, or for another cause.)";

constexpr const char* kGetDoc =
    R"(Returns the value of a name: an array, or the bytes that were put.

name: as in put(); with "/seg=N" behind the version, the bytes of that segment alone.
timeout: seconds.

The next switch that has it answers. Raises ValueError for a bad name, tributary.Error with reason
"name-unknown" if no value has it, or for another cause.)";

constexpr const char* kStatsDoc =
    R"(Counters since init(), as a dict of int.

ops: operations done. contributions, contribution_bytes: chunks sent first time, and their payload
bytes. results, result_bytes: chunks received. duplicate_results, probes, resends, pending_replies,
unknown_replies: loss recovery. drops: packets refused. smoothed_rtt_ns: chunk round-trip time.
float_retries: chunks summed as floats because fixed-point sums overflow. degraded_results:
chunks whose result lacks ranks. marked_results: chunks whose result tells of a queue that data met;
reported_marks: results that met one on their way here; window_decreases: halvings of a shard's window
for the former; least_window: the least bound that a shard had, in chunks. asked_results: results
that came only as the answer to a probe; if all did, multicast does not reach this host. retries:
epochs in which operations of a lost one were done again.)";

constexpr const char* kCloseDoc =
    R"(Leaves the job. Operations still open fail. Done by `with` and by deletion, too.)";

constexpr const char* kOverflowDoc =
    R"(The result of an operation left the range of its type; no part of it is of any use.

Every rank gets this error for the same operation. The communicator and its later operations are
unharmed.)";

// The type objects; they live as long as the interpreter.
PyObject* error_type = nullptr;
PyObject* overflow_type = nullptr;

void raise(const std::string& text, wire::Reason reason, const std::vector<std::uint32_t>& ranks) {
  PyObject* const kind = reason == wire::Reason::overflow ? overflow_type : error_type;
  const py::object type = py::reinterpret_borrow<py::object>(kind);
  const py::object error = type(text);
  py::list missing;
  for (const std::uint32_t rank : ranks) missing.append(rank);
  if (reason != wire::Reason::none) error.attr("reason") = wire::name_of(reason);
  error.attr("missing_ranks") = missing;
  PyErr_SetObject(kind, error.ptr());
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): as pybind11 calls it
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const CommunicatorError& e) {
    raise(e.what(), e.reason(), e.missing_ranks());
  } catch (const py::builtin_exception&) {
    throw;  // TypeError, ValueError: pybind11 handles them
  } catch (const py::error_already_set&) {
    throw;
  } catch (const std::runtime_error& e) {  // sockets, routes, memif
    raise(e.what(), wire::Reason::none, {});
  }
}

void define_error(py::module_& m) {
  py::dict defaults;
  defaults["reason"] = py::none();
  defaults["missing_ranks"] = py::list();
  error_type =
      PyErr_NewExceptionWithDoc("tributary.Error", kErrorDoc, PyExc_RuntimeError, defaults.ptr());
  if (error_type == nullptr) throw py::error_already_set();
  m.attr("Error") = py::reinterpret_borrow<py::object>(error_type);
  const py::tuple bases =
      py::make_tuple(m.attr("Error"), py::reinterpret_borrow<py::object>(PyExc_OverflowError));
  overflow_type =
      PyErr_NewExceptionWithDoc("tributary.OverflowError", kOverflowDoc, bases.ptr(), nullptr);
  if (overflow_type == nullptr) throw py::error_already_set();
  m.attr("OverflowError") = py::reinterpret_borrow<py::object>(overflow_type);
  py::register_exception_translator(&translate);
}

// Defines what __init__.py makes of init()'s `manager`, `job`, `request` and `worker`, and what
// torch/managed.py asks a manager by.
void define_managed_job(py::module_& m) {
  using worker::ManagedJob;
  py::class_<ManagedJob>(m, "_ManagedJob")
      .def(py::init(
               [](std::string manager, std::string name, std::string request, std::string worker) {
                 return ManagedJob{std::move(manager), std::move(name), std::move(request),
                                   std::move(worker), std::nullopt};
               }),
           py::arg("manager"), py::arg("name"), py::arg("request"), py::arg("worker"));
  m.def("_wait_for_job", &worker::ask_manager, py::call_guard<py::gil_scoped_release>());
  m.def("_call_manager", &worker::call_manager, py::call_guard<py::gil_scoped_release>());
}

}  // namespace
}  // namespace tributary::python

PYBIND11_MODULE(_native, m) {
  using namespace tributary::python;
  m.doc() = "The package tributary, but for its Python files.";
  m.attr("__version__") = TRIBUTARY_VERSION;
  define_error(m);
  define_layout(m);
  define_managed_job(m);

  py::class_<PyRequest>(m, "Request", "An operation in flight; see Communicator.allreduce().")
      .def("wait", &PyRequest::wait, py::arg("timeout") = py::none(), kWaitDoc)
      .def("done", &PyRequest::done, "True when wait() would not block.")
      .def_property_readonly(
          "degraded", [](PyRequest& self) { return self.outcome().degraded(); }, kDegradedDoc)
      .def_property_readonly(
          "counted", [](PyRequest& self) { return self.outcome().counted; },
          "Ranks that are inside of every chunk of the result. Waits, as wait() does.")
      .def_property_readonly(
          "missing", [](PyRequest& self) { return self.outcome().missing; },
          "Ranks that some chunk of the result lacks, ascending. Waits, as wait() does.")
      .def_property_readonly("parts", &PyRequest::parts, kPartsDoc)
      .def("divide", &PyRequest::divide, kDivideDoc);

  py::class_<PyCommunicator>(m, "Communicator", "One rank's membership in a job; see init().")
      .def("allreduce", &PyCommunicator::allreduce, py::arg("array"), py::arg("op") = "sum",
           py::arg("dtype") = py::none(), py::arg("encoding") = "plain",
           py::arg("scale_exponent") = py::none(), py::arg("name") = py::none(), kAllreduceDoc)
      .def("reduce", &PyCommunicator::reduce, py::arg("array"), py::arg("root"),
           py::arg("op") = "sum", py::arg("dtype") = py::none(), kReduceDoc)
      .def("broadcast", &PyCommunicator::broadcast, py::arg("array"), py::arg("root"),
           py::arg("dtype") = py::none(), kBroadcastDoc)
      .def("all_gather", &PyCommunicator::all_gather, py::arg("array"),
           py::arg("output") = py::none(), py::arg("dtype") = py::none(), kAllGatherDoc)
      .def("reduce_scatter", &PyCommunicator::reduce_scatter, py::arg("array"),
           py::arg("output") = py::none(), py::arg("op") = "sum", py::arg("dtype") = py::none(),
           kReduceScatterDoc)
      .def("open_model", &PyCommunicator::open_model, py::arg("array"), py::arg("number") = 0,
           py::arg("root") = 0, kOpenModelDoc)
      .def("update_model", &PyCommunicator::update_model, py::arg("array"), py::arg("number") = 0,
           py::arg("op") = "sum", kUpdateModelDoc)
      .def("model_step", &PyCommunicator::model_step, kModelStepDoc)
      .def("barrier", &PyCommunicator::barrier, py::arg("timeout") = py::none(), kBarrierDoc)
      .def("resize", &PyCommunicator::resize, py::arg("size"), kResizeDoc)
      .def("allocate", &PyCommunicator::allocate, py::arg("shape"), py::arg("dtype") = "float32",
           kAllocateDoc)
      .def("put", &PyCommunicator::put, py::arg("name"), py::arg("value"),
           py::arg("timeout") = 10.0, kPutDoc)
      .def("get", &PyCommunicator::get, py::arg("name"), py::arg("timeout") = 10.0, kGetDoc)
      .def("stats", &PyCommunicator::stats, kStatsDoc)
      .def("close", &PyCommunicator::close, kCloseDoc)
      .def_property_readonly("job", &PyCommunicator::job, "Number of the job.")
      .def_property_readonly("rank", &PyCommunicator::rank, "This rank, 0 to size - 1.")
      .def_property_readonly("size", &PyCommunicator::size, "Number of ranks in the job.")
      .def_property_readonly("epoch", &PyCommunicator::epoch,
                             "Number of this incarnation of the job; a restart has another.")
      .def_property_readonly("run", &PyCommunicator::run,
                             "This incarnation of the job in names, the same on every rank.")
      .def_property_readonly("closed", &PyCommunicator::closed, "True after close().")
      .def("__enter__", [](PyCommunicator& self) -> PyCommunicator& { return self; })
      .def("__exit__", [](PyCommunicator& self, const py::args&) { self.close(); });

  py::class_<tributary::OpenOptions>(m, "_OpenJob").def(py::init(&open_job));
  m.def("init", &init, py::kw_only(), py::arg("job"), py::arg("rank") = py::none(),
        py::arg("size") = py::none(), py::arg("address") = py::none(),
        py::arg("join_timeout") = 60.0, py::arg("op_timeout") = 60.0, py::arg("loss_group") = 0,
        py::arg("host_config") = "", py::arg("host_node") = "", py::arg("at_host") = false,
        py::arg("retry") = py::none(), py::arg("retry_timeout") = 30.0,
        py::arg("fail_if_taken") = false, py::arg("run") = "", py::arg("address_bits") = py::none(),
        py::arg_v("managed", tributary::worker::ManagedJob{}, "None"),
        py::arg_v("opened", tributary::OpenOptions{}, "None"), kInitDoc);
}
