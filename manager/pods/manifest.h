// Manifests: a Pod v1 or PodGroup, a List of them, or several documents divided by "---"; YAML or
// JSON. Strict: every unknown field, wrong value and refused right is an error with its path.
//
//   text ─▶ fields (manifest_fields.h) ─▶ refused rights, quantities, annotations (ask.h) ─▶
//   Manifest
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manager/pods/pod.h"

namespace tributary::manager {

struct Manifest {
  std::vector<Pod> pods;
  std::vector<PodGroup> groups;
};

// Throws config::ConfigErrors. `file_name` is only what errors call the text.
Manifest parse_manifest(std::string_view text, const std::string& file_name);
// Reads back as the same; one document.
std::string dump(const Pod& pod);
std::string dump(const PodGroup& group);

}  // namespace tributary::manager
