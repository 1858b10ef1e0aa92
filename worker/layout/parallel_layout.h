// Communicators from a parallel layout: the ranks of each allreduce group of a training (A6).
//
// A layout is a world size and an ordered list of dimensions, fastest first: neighbours in the
// first dimension have consecutive ranks. A group holds the ranks that differ in the dimensions of
// its kind and agree in all others. Groups of one kind are disjoint and cover the world.
//
//   world 16, tensor 2, data 2, pipeline 4          ranks of kind "data":     [0,2] [1,3] [4,6] ...
//   rank = tensor + 2 * (data + 2 * pipeline)       ranks of kind "pipeline": [0,4,8,12] ...
//
// Order and names are those of Megatron-LM's parallel_state ("tp-cp-ep-dp-pp"). "expert" is a part
// of the data dimension, as in Megatron-LM and DeepSpeed: data = expert * expert_data, expert
// faster. Pure functions; they need no switch and no manager.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::layout {

struct Dimension {
  std::string name;          // tensor, context, data or pipeline, or any other word
  std::uint32_t degree = 1;  // ranks along it; 0 in one dimension: the rest of the world
};

struct ParallelLayout {
  std::uint32_t world_size = 0;
  std::vector<Dimension> dimensions;  // fastest first
  std::uint32_t expert = 1;           // degree of "expert"; divides the degree of "data"
};

using Group = std::vector<std::uint32_t>;  // ranks, ascending

// Throws std::invalid_argument, with the arithmetic, if degrees do not multiply to the world size,
// if the expert degree does not divide that of data, and if a name appears twice or is empty.
void check(const ParallelLayout& layout);

// The groups of one kind, by their lowest ranks. `kind`: names of dimensions joined by '+', like
// "data+context"; also "expert" and "expert_data". Throws std::invalid_argument with all available
// kinds, and like check().
std::vector<Group> groups_of(const ParallelLayout& layout, std::string_view kind);

// Task information of a group (A1): its units on each node that has any. Rank r runs on node r /
// units_per_node. Throws std::invalid_argument if units_per_node is 0.
struct NodeUnits {
  std::uint32_t node = 0;
  std::uint32_t units = 0;
  bool operator==(const NodeUnits&) const = default;
};
std::vector<NodeUnits> task_information(std::span<const std::uint32_t> group,
                                        std::uint32_t units_per_node);

// A group as a job: ids are consecutive from `first_id` on, in the order of `kinds` and groups.
// Groups of one rank need no job and get none.
struct GroupJob {
  std::uint32_t job = 0;
  std::string kind;
  Group ranks;  // a rank's place in here is its rank in the job
  bool operator==(const GroupJob&) const = default;
};
std::vector<GroupJob> jobs_of(const ParallelLayout& layout, std::span<const std::string> kinds,
                              std::uint32_t first_id);

}  // namespace tributary::layout
