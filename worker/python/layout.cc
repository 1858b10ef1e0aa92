// Python's interface to worker/layout: communicators from a parallel layout.
#include "worker/python/layout.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/layout/parallel_layout.h"

namespace py = pybind11;

namespace tributary::python {
namespace {

constexpr const char* kGroupsDoc =
    R"(The groups of ranks of one kind in a parallel layout, by their lowest ranks: a list of lists.

world_size: number of ranks.
dimensions: degree by name, fastest first, as Megatron-LM's order "tp-cp-dp-pp":
    {"tensor": 2, "context": 1, "data": 0, "pipeline": 4}. One degree may be 0: what is left.
kind: the dimensions in which the ranks of a group differ, joined by "+": "data",
    "data+context", "tensor+pipeline"; also "expert" and "expert_data".
expert: degree of expert parallelism, inside the data dimension as in DeepSpeed.

Raises ValueError with the arithmetic where the degrees don't multiply to the world size. Needs no
switch and no job.)";

constexpr const char* kGroupJobsDoc =
    R"(A job for each group of the named kinds: a list of (job, kind, ranks).

kinds: a list of kinds as in groups(). first_job: the id of the first job; the others follow. A
rank's number in a job is its place in `ranks`. Groups of one rank get no job.)";

constexpr const char* kTaskInformationDoc =
    R"(How many units of a group run on each node: a list of (node, units), ascending.

group: ranks. Rank r runs on node r // units_per_node.)";

layout::ParallelLayout layout_of(std::uint32_t world_size, const py::dict& dimensions,
                                 std::uint32_t expert) {
  layout::ParallelLayout made{world_size, {}, expert};
  for (const auto& [name, degree] : dimensions)
    made.dimensions.push_back({name.cast<std::string>(), degree.cast<std::uint32_t>()});
  return made;
}

std::vector<layout::Group> groups(std::uint32_t world_size, const py::dict& dimensions,
                                  const std::string& kind, std::uint32_t expert) {
  return layout::groups_of(layout_of(world_size, dimensions, expert), kind);
}

py::list group_jobs(std::uint32_t world_size, const py::dict& dimensions,
                    const std::vector<std::string>& kinds, std::uint32_t first_job,
                    std::uint32_t expert) {
  py::list jobs;
  for (const layout::GroupJob& job :
       layout::jobs_of(layout_of(world_size, dimensions, expert), kinds, first_job))
    jobs.append(py::make_tuple(job.job, job.kind, job.ranks));
  return jobs;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> task_information(
    const std::vector<std::uint32_t>& group, std::uint32_t units_per_node) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes;
  for (const layout::NodeUnits& n : layout::task_information(group, units_per_node))
    nodes.emplace_back(n.node, n.units);
  return nodes;
}

}  // namespace

void define_layout(py::module_& m) {
  m.def("groups", &groups, py::arg("world_size"), py::arg("dimensions"), py::arg("kind"),
        py::kw_only(), py::arg("expert") = 1, kGroupsDoc);
  m.def("group_jobs", &group_jobs, py::arg("world_size"), py::arg("dimensions"), py::arg("kinds"),
        py::arg("first_job"), py::kw_only(), py::arg("expert") = 1, kGroupJobsDoc);
  m.def("task_information", &task_information, py::arg("group"), py::arg("units_per_node"),
        kTaskInformationDoc);
}

}  // namespace tributary::python
