#include "tools/agentd/pods/cdi.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/agentd/pods/container_spec.h"
#include "tools/program/output_file.h"

namespace tributary::agentd {
namespace {

using Json = nlohmann::ordered_json;

std::string prefix_of(const std::string& node) {
  return "tributary-" + node + "_";
}

std::string file_name(const std::string& node, std::string kind) {
  std::replace(kind.begin(), kind.end(), '/', '_');
  return prefix_of(node) + kind + ".json";
}

Json edits_of(const LocalDevice& local) {
  Json edits = {{"env", local.env}};
  std::string name = local.device.name;
  for (char& c : name)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' || c == '.' ? '_' : c;
  // CDI wants an edit of each device, also of one without a device node.
  edits["env"].push_back("TRIBUTARY_DEVICE_" + name + "=" + local.device.kind);
  for (const std::string& path : local.paths) edits["deviceNodes"].push_back({{"path", path}});
  return edits;
}

}  // namespace

std::map<std::string, std::string> cdi_files(const std::string& node,
                                             const std::vector<LocalDevice>& devices) {
  std::map<std::string, Json> by_kind;
  for (const LocalDevice& local : devices) {
    Json& file = by_kind[local.device.kind];
    file["cdiVersion"] = "0.5.0";
    file["kind"] = local.device.kind;
    file["devices"].push_back(
        {{"name", cdi_name(node, local.device.name)}, {"containerEdits", edits_of(local)}});
  }
  std::map<std::string, std::string> files;
  for (const auto& [kind, file] : by_kind) files[file_name(node, kind)] = file.dump(2) + "\n";
  return files;
}

void CdiFolder::remove_others(const std::map<std::string, std::string>& wanted) const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix_of(node_)) && !wanted.contains(name))
      std::filesystem::remove(entry.path());
  }
}

void CdiFolder::update(const std::vector<LocalDevice>& devices) {
  const auto wanted = cdi_files(node_, devices);
  if ((looked_ && wanted == written_) || (wanted.empty() && !std::filesystem::exists(folder_)))
    return;
  std::filesystem::create_directories(folder_);
  remove_others(wanted);
  for (const auto& [name, text] : wanted) {
    const auto known = written_.find(name);
    if (known == written_.end() || known->second != text)
      tools::write_file(folder_ + "/" + name, text);
  }
  written_ = wanted;
  looked_ = true;
}

}  // namespace tributary::agentd
