// The extension module tributary.torch._backend: makes process groups for torch.distributed. Names,
// environment and the store are handled in the package's Python files.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdio>
#include <utility>

#include "worker/torch/backend.h"

namespace py = pybind11;

namespace tributary::torch_backend {
namespace {

// The group's tributary.torch.binding.Agreement. Its methods run with the GIL; the callers do not
// hold it.
class PythonAgreement final : public Agreement {
 public:
  explicit PythonAgreement(py::object object) : object_(std::move(object)) {}
  ~PythonAgreement() override {
    if (Py_IsInitialized() == 0) {
      object_.release();  // too late to inform it
      return;
    }
    const py::gil_scoped_acquire held;
    object_ = {};
  }

  Binding bind() override {
    const py::gil_scoped_acquire held;
    return plain([this] {
      const py::dict found = object_.attr("bind")();
      Binding binding;
      binding.job = found["job"].cast<std::optional<std::uint32_t>>();
      binding.address = found["address"].cast<std::string>();
      binding.run = found["run"].cast<std::string>();
      binding.why_not = found["why_not"].cast<std::string>();
      return binding;
    });
  }
  void joined(std::uint16_t epoch) override {
    const py::gil_scoped_acquire held;
    plain([&] { return object_.attr("joined")(epoch).is_none(); });
  }
  void cancel() noexcept override { call_quietly("cancel"); }
  void wait_for_all() noexcept override { call_quietly("wait_for_all"); }
  void release() noexcept override { call_quietly("release"); }
  bool interrupted() override {
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return false;
    PyErr_Clear();
    PyErr_SetInterrupt();  // the main thread sees it as soon as joining ends
    return true;
  }
  void unlocked(const std::function<void()>& body) override {
    if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) return body();
    const py::gil_scoped_release released;
    body();
  }

 private:
  // Turns Python's exceptions into C++ ones: they pass through threads that do not hold the GIL.
  template <typename Body>
  static auto plain(Body body) -> decltype(body()) {
    try {
      return body();
    } catch (const py::error_already_set& e) {
      throw std::runtime_error(py::str(e.value()).cast<std::string>());
    }
  }
  void call_quietly(const char* name) noexcept {
    if (Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire held;
    try {
      object_.attr(name)();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "tributary: %s: %s\n", name, e.what());
    }
  }

  py::object object_;
};

// The group as this backend's, or TypeError.
Backend& ours(const BackendPointer& group) {
  auto* const backend = dynamic_cast<Backend*>(group.get());
  if (backend == nullptr)
    throw py::type_error("this process group is not of backend tributary, but of " +
                         group->getBackendName());
  return *backend;
}

BackendPointer create(
    const BackendPointer& inner, const py::object& agreement, int rank, int size,
    const std::string& group, std::int64_t timeout_ms,
    const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>& thresholds, bool log,
    bool scale_degraded) {
  BackendOptions options;
  options.rank = rank;
  options.size = size;
  options.group = group;
  options.timeout = std::chrono::milliseconds(timeout_ms);
  options.thresholds = Thresholds(thresholds);
  options.log = log;
  options.scale_degraded = scale_degraded;
  return c10::make_intrusive<Backend>(std::move(options), inner,
                                      std::make_unique<PythonAgreement>(agreement));
}

}  // namespace
}  // namespace tributary::torch_backend

PYBIND11_MODULE(_backend, m) {
  using namespace tributary::torch_backend;
  m.doc() = "Process groups that sum in the network; see tributary.torch.";
  m.attr("TORCH_VERSION") = TORCH_VERSION;
  m.attr("NEVER") = Thresholds::kNever;
  m.def("create", &create, py::arg("inner"), py::arg("agreement"), py::arg("rank"), py::arg("size"),
        py::arg("group"), py::arg("timeout_ms"), py::arg("thresholds"), py::arg("log"),
        py::arg("scale_degraded"));
  m.def(
      "close", [](const BackendPointer& group) { ours(group).close(); },
      py::call_guard<py::gil_scoped_release>());
  m.def("close_all", &Backend::close_all, py::call_guard<py::gil_scoped_release>());
  m.def("calls", [](const BackendPointer& group) { return ours(group).calls(); });
  m.def(
      "allreduce_block_scaled",
      [](const BackendPointer& group, at::Tensor tensor) {
        return ours(group).allreduce_block_scaled(tensor);
      },
      py::call_guard<py::gil_scoped_release>());
}
