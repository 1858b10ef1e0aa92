#include "worker/layout/parallel_layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

namespace tributary::layout {
namespace {

constexpr std::string_view kData = "data";
constexpr std::string_view kExpert = "expert";
constexpr std::string_view kExpertData = "expert_data";

// "tensor 2 x data 3 x pipeline 4"
std::string product_text(const std::vector<Dimension>& dimensions) {
  std::string text;
  for (const Dimension& d : dimensions)
    text += (text.empty() ? "" : " x ") + d.name + " " + std::to_string(d.degree);
  return text;
}

void check_names(const std::vector<Dimension>& dimensions) {
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::string& name = dimensions[i].name;
    if (name.empty() || name.find('+') != std::string::npos || name == kExpert ||
        name == kExpertData)
      throw std::invalid_argument("a dimension can't be called '" + name +
                                  "'; expert parallelism is a degree of its own, inside data");
    for (std::size_t j = 0; j < i; ++j)
      if (dimensions[j].name == name)
        throw std::invalid_argument("dimension '" + name + "' stands twice");
  }
}

// Replaces the degree 0 by the rest of the world size.
std::vector<Dimension> with_all_degrees(const ParallelLayout& layout) {
  std::vector<Dimension> all = layout.dimensions;
  std::uint64_t product = 1;
  Dimension* open = nullptr;
  for (Dimension& d : all) {
    if (d.degree != 0) {
      product *= d.degree;
      if (product > layout.world_size) break;
    } else if (open != nullptr) {
      throw std::invalid_argument("'" + open->name + "' and '" + d.name +
                                  "' both have degree 0; one at most takes what is left");
    } else {
      open = &d;
    }
  }
  const bool fits = product != 0 && product <= layout.world_size &&
                    layout.world_size % product == 0 &&
                    (open != nullptr || product == layout.world_size);
  if (!fits)
    throw std::invalid_argument(
        product_text(all) + (open != nullptr ? " does not divide" : " is not") +
        " the world size " + std::to_string(layout.world_size) +
        (product <= layout.world_size ? ": the product is " + std::to_string(product)
                                      : ": the product is larger"));
  if (open != nullptr) open->degree = static_cast<std::uint32_t>(layout.world_size / product);
  return all;
}

// The given dimensions, with data split into expert and expert_data if there is expert parallelism.
std::vector<Dimension> fine_dimensions(const ParallelLayout& layout) {
  if (layout.world_size == 0) throw std::invalid_argument("the world size must be at least 1");
  check_names(layout.dimensions);
  std::vector<Dimension> all = with_all_degrees(layout);
  const auto data =
      std::find_if(all.begin(), all.end(), [](const Dimension& d) { return d.name == kData; });
  const std::uint32_t degree = data == all.end() ? 1 : data->degree;
  if (layout.expert == 0 || degree % layout.expert != 0)
    throw std::invalid_argument("expert " + std::to_string(layout.expert) +
                                " does not divide data " + std::to_string(degree));
  if (data == all.end()) return all;
  *data = {std::string(kExpert), layout.expert};
  all.insert(data + 1, {std::string(kExpertData), degree / layout.expert});
  return all;
}

bool varies(std::string_view kind, std::string_view name) {
  for (std::size_t at = 0; at <= kind.size();) {
    const std::size_t end = std::min(kind.find('+', at), kind.size());
    const std::string_view word = kind.substr(at, end - at);
    if (word == name || (word == kData && (name == kExpert || name == kExpertData))) return true;
    at = end + 1;
  }
  return false;
}

void check_kind(const std::vector<Dimension>& dimensions, std::string_view kind) {
  std::string allowed;
  std::vector<std::string_view> names;
  for (const Dimension& d : dimensions) names.push_back(d.name);
  if (std::find(names.begin(), names.end(), kExpert) != names.end()) names.push_back(kData);
  for (const std::string_view name : names)
    allowed.append(allowed.empty() ? "" : ", ").append(name);
  for (std::size_t at = 0; at <= kind.size();) {
    const std::size_t end = std::min(kind.find('+', at), kind.size());
    const std::string_view word = kind.substr(at, end - at);
    if (std::find(names.begin(), names.end(), word) == names.end())
      throw std::invalid_argument("no dimension is called '" + std::string(word) + "' in '" +
                                  std::string(kind) + "'; there are: " + allowed);
    at = end + 1;
  }
}

}  // namespace

void check(const ParallelLayout& layout) {
  (void)fine_dimensions(layout);
}

std::vector<Group> groups_of(const ParallelLayout& layout, std::string_view kind) {
  const std::vector<Dimension> dimensions = fine_dimensions(layout);
  check_kind(dimensions, kind);
  // Ranks with equal coordinates in the fixed dimensions form one group.
  std::map<std::uint32_t, Group> groups;  // by their lowest rank
  for (std::uint32_t rank = 0; rank < layout.world_size; ++rank) {
    std::uint32_t lowest = rank;
    std::uint32_t stride = 1;
    for (const Dimension& d : dimensions) {
      if (varies(kind, d.name)) lowest -= (rank / stride % d.degree) * stride;
      stride *= d.degree;
    }
    groups[lowest].push_back(rank);
  }
  std::vector<Group> all;
  for (auto& [lowest, group] : groups) all.push_back(std::move(group));
  return all;
}

std::vector<NodeUnits> task_information(std::span<const std::uint32_t> group,
                                        std::uint32_t units_per_node) {
  if (units_per_node == 0) throw std::invalid_argument("units per node must be at least 1");
  std::map<std::uint32_t, std::uint32_t> units;
  for (const std::uint32_t rank : group) ++units[rank / units_per_node];
  std::vector<NodeUnits> nodes;
  for (const auto& [node, count] : units) nodes.push_back({node, count});
  return nodes;
}

std::vector<GroupJob> jobs_of(const ParallelLayout& layout, std::span<const std::string> kinds,
                              std::uint32_t first_id) {
  std::vector<GroupJob> jobs;
  std::uint64_t id = first_id;
  for (const std::string& kind : kinds)
    for (Group& group : groups_of(layout, kind)) {
      if (group.size() == 1) continue;
      if (id > 0xFFFFFFFF)
        throw std::invalid_argument("job ids from " + std::to_string(first_id) +
                                    " on do not suffice for the layout's groups");
      jobs.push_back({static_cast<std::uint32_t>(id++), kind, std::move(group)});
    }
  return jobs;
}

}  // namespace tributary::layout
