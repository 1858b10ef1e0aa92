// The native half of tributary.data: a Loader and a Sampler for Python. The Python half is in
// worker/python/tributary/data.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <optional>

#include "pool/loader/epoch_loader.h"
#include "pool/loader/gpu_target.h"
#include "pool/loader/loader.h"
#include "pool/loader/sampler.h"
#include "pool/record/tar.h"

namespace py = pybind11;

namespace tributary::pool {
namespace {

std::span<std::byte> writable(const py::buffer& buffer) {
  const py::buffer_info info = buffer.request(true);
  py::ssize_t expected = info.itemsize;
  for (py::ssize_t d = info.ndim; d-- > 0; expected *= info.shape[static_cast<std::size_t>(d)])
    if (info.shape[static_cast<std::size_t>(d)] > 1 &&
        info.strides[static_cast<std::size_t>(d)] != expected)
      throw py::value_error("the target is not contiguous");
  return {static_cast<std::byte*>(info.ptr), static_cast<std::size_t>(info.size * info.itemsize)};
}

// Loads records into `target`, each at offsets[i]. Does not hold the GIL meanwhile.
void get_batch(Loader& loader, const std::vector<std::uint64_t>& ids, const py::buffer& target,
               const std::vector<std::uint64_t>& offsets) {
  const auto all = writable(target);
  if (ids.size() != offsets.size()) throw py::value_error("one offset for each id");
  std::vector<std::span<std::byte>> targets;
  targets.reserve(ids.size());
  for (const std::uint64_t offset : offsets) {
    if (offset > all.size()) throw py::value_error("an offset beyond the target");
    targets.push_back(all.subspan(offset));
  }
  const py::gil_scoped_release release;
  loader.get_batch(ids, targets);
}

// The places of records in one buffer: (offsets, lengths, bytes).
py::tuple plan(const Loader& loader, std::vector<std::uint64_t> ids) {
  const RecordPlaces places = places_of(loader, std::move(ids));
  return py::make_tuple(places.offsets, places.lengths, places.bytes);
}

// GPU memory as targets; one object for each GPU of a process.
class PythonGpu {
 public:
  PythonGpu(std::shared_ptr<Loader> loader, std::uint64_t address) : loader_(std::move(loader)) {
    target_.emplace(*loader_, driver_, gpu_of(driver_, address));
  }
  ~PythonGpu() {
    const py::gil_scoped_release release;
    target_.reset();
  }
  PythonGpu(const PythonGpu&) = delete;
  PythonGpu& operator=(const PythonGpu&) = delete;
  void get_batch(const std::vector<std::uint64_t>& ids, std::uint64_t address, std::uint64_t bytes,
                 const std::vector<std::uint64_t>& offsets) {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    target_->get_batch(address, bytes, ids, offsets);
  }

 private:
  std::shared_ptr<Loader> loader_;
  CudaDriver driver_;
  std::optional<GpuTarget> target_;
  std::mutex mutex_;
};

// Calls that wait for a load of another thread do so without the GIL.
void register_buffer(Loader& loader, const py::buffer& buffer) {
  const auto bytes = writable(buffer);
  const py::gil_scoped_release release;
  loader.register_buffer(bytes);
}

void unregister_buffer(Loader& loader, const py::buffer& buffer) {
  const auto bytes = writable(buffer);
  const py::gil_scoped_release release;
  loader.unregister_buffer(bytes.data());
}

LoadCounters counters_without_gil(const Loader& loader) {
  const py::gil_scoped_release release;
  return loader.counters();
}

py::dict counters_of(const Loader& loader) {
  const LoadCounters c = counters_without_gil(loader);
  py::dict out;
  out["hits"] = c.hits;
  out["misses"] = c.misses;
  out["pool_bytes"] = c.pool_bytes;
  out["store_bytes"] = c.store_bytes;
  out["stale"] = c.stale;
  out["corrupt"] = c.corrupt;
  out["node_failures"] = c.node_failures;
  out["batches"] = c.batches;
  out["batch_ns"] = c.batch_ns;
  out["slowest_batch_ns"] = c.slowest_batch_ns;
  return out;
}

std::vector<py::dict> nodes_of(Loader& loader) {
  std::vector<NodeState> states;
  {
    const py::gil_scoped_release release;
    states = loader.nodes();
  }
  std::vector<py::dict> out;
  for (const NodeState& state : states) {
    py::dict row;
    row["name"] = state.name;
    row["up"] = state.up;
    row["transport"] = state.transport;
    row["problem"] = state.problem;
    out.push_back(row);
  }
  return out;
}

// (key, suffix, offset, bytes) of each member of a sample.
std::vector<py::tuple> members_of(const py::buffer& record) {
  const py::buffer_info info = record.request();
  const std::span bytes(static_cast<const std::byte*>(info.ptr),
                        static_cast<std::size_t>(info.size * info.itemsize));
  std::vector<TarMember> members;
  if (!list_tar(bytes, members)) throw py::value_error("the record is no piece of a tar archive");
  std::vector<py::tuple> out;
  SampleSuffixes suffixes;
  for (const TarMember& member : members) {
    const auto its = sample_member(member.name);
    if (!its) continue;
    if (!suffixes.add(its->suffix))
      throw py::value_error("member " + member.name + ": the sample has a '" + its->suffix +
                            "' already");
    out.push_back(py::make_tuple(its->key, its->suffix, member.data_offset, member.bytes));
  }
  return out;
}

}  // namespace
}  // namespace tributary::pool

PYBIND11_MODULE(_pool, m) {
  using namespace tributary::pool;
  m.doc() = "Native half of tributary.data.";
  static const py::exception<LoadError> load_error(m, "LoadError", PyExc_OSError);
  py::register_exception_translator([](std::exception_ptr thrown) {  // NOLINT
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const LoadError& error) {
      const py::object made = py::reinterpret_borrow<py::object>(load_error)(error.what());
      made.attr("ids") = error.ids();
      PyErr_SetObject(load_error.ptr(), made.ptr());
    } catch (const std::out_of_range& error) {
      PyErr_SetString(PyExc_IndexError, error.what());
    } catch (const std::length_error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  py::class_<Loader, std::shared_ptr<Loader>>(m, "Loader")
      .def(py::init(
          [](const std::string& path) { return std::make_shared<Loader>(load_pool_config(path)); }))
      .def("plan", &plan)
      .def("records", &Loader::records)
      .def("length", &Loader::length)
      .def("is_tar", [](const Loader& l) { return l.manifest().head().format == Format::tar; })
      .def("amount",
           [](const Loader& l) {
             return py::make_tuple(l.config().load.amount.number, l.config().load.amount.bytes);
           })
      .def("target", [](const Loader& l) { return l.config().load.target; })
      .def("pad", [](const Loader& l) { return l.config().load.pad; })
      .def("get_batch", &get_batch)
      .def("register_buffer", &register_buffer)
      .def("unregister_buffer", &unregister_buffer)
      .def("counters", &counters_of)
      .def("metrics", &Loader::metrics, py::call_guard<py::gil_scoped_release>())
      .def("nodes", &nodes_of);
  py::class_<PythonGpu>(m, "Gpu")
      .def(py::init<std::shared_ptr<Loader>, std::uint64_t>(),
           py::call_guard<py::gil_scoped_release>())
      .def("get_batch", &PythonGpu::get_batch);
  py::class_<Sampler>(m, "Sampler")
      .def(py::init([](std::uint64_t records, std::uint64_t seed, std::uint64_t rank,
                       std::uint64_t ranks, bool shuffled, bool pad, bool drop_last) {
        const Uneven uneven = drop_last ? Uneven::drop : pad ? Uneven::pad : Uneven::keep;
        return Sampler({records, seed, rank, ranks, shuffled, uneven});
      }))
      .def("share", &Sampler::share)
      .def("epoch", &Sampler::epoch)
      .def("position", &Sampler::position)
      .def("seek", &Sampler::seek)
      .def("next", [](Sampler& sampler, const Loader& loader, std::uint64_t number, bool bytes) {
        return sampler.next({number, bytes}, [&](std::uint64_t id) { return loader.length(id); });
      });
  m.def("parse_amount", [](const std::string& text) {
    const auto amount = parse_amount(text);
    if (!amount)
      throw py::value_error("'" + text +
                            "' is no amount; allowed: a number of records, or of KiB, MiB or GiB");
    return py::make_tuple(amount->number, amount->bytes);
  });
  m.def("members", &members_of);
}
