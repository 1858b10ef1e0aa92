#include "manager/pods/manifest.h"

#include <algorithm>
#include <set>

#include "config/text/file.h"
#include "manager/pods/ask.h"
#include "manager/pods/job_desk.h"
#include "manager/pods/manifest_fields.h"

namespace tributary::manager {
namespace {

using config::ReadContext;

constexpr std::size_t kMostObjects = 1024;

const config::Node* child(const config::Node& node, const std::string& key) {
  for (const config::Entry& entry : node.entries)
    if (entry.key.text == key) return &entry.value;
  return nullptr;
}

std::string text_at(const config::Node& node, const std::string& key) {
  const config::Node* const found = child(node, key);
  return found == nullptr ? "" : found->text;
}

class ManifestReader {
 public:
  explicit ManifestReader(const std::string& file) : context_(file) {}

  void read(const config::Node& node, const std::string& path) {
    context_.note(path, node.mark);
    const std::string kind = text_at(node, "kind");
    if (kind == "Pod")
      read_pod(node, path);
    else if (kind == "PodGroup")
      read_group(node, path);
    else if (kind == "List" && path.empty())
      read_list(node);
    else
      context_.fail(config::child_path(path, "kind"), node.mark,
                    config::quoted(kind) + " is not served; allowed: Pod, PodGroup, List");
  }

  Manifest finish() {
    if (!context_.errors().empty()) throw config::ConfigErrors(context_.errors());
    return std::move(manifest_);
  }

 private:
  void read_list(const config::Node& node) {
    const config::Node* const items = child(node, "items");
    if (items == nullptr || items->kind != config::Node::Kind::sequence ||
        items->items.size() > kMostObjects)
      return context_.fail("items", node.mark,
                           "is no list of at most " + std::to_string(kMostObjects) + " objects");
    for (const config::Entry& entry : node.entries)
      if (entry.key.text != "apiVersion" && entry.key.text != "kind" && entry.key.text != "items")
        context_.fail(config::printable_key(entry.key.text), entry.key.mark,
                      config::unknown_key_message(entry.key.text, {"apiVersion", "kind", "items"}));
    for (std::size_t i = 0; i < items->items.size(); ++i)
      read(items->items[i], config::item_path("items", i));
  }

  void read_pod(const config::Node& node, const std::string& path) {
    Pod pod;
    read_mapping(context_, path, node, pod_fields(), pod);
    refuse_rights(pod, path);
    const Complain complain = [&](const std::string& at, const std::string& message) {
      const std::string whole = config::child_path(path, at);
      if (context_.usable(whole)) context_.report(whole, message);
    };
    static_cast<void>(ask_of(pod, complain));
    check_containers(pod, complain);
    check_name("pod " + pod.metadata.name, path);
    manifest_.pods.push_back(std::move(pod));
  }

  void refuse_rights(const Pod& pod, const std::string& path) {
    const std::string spec = config::child_path(path, "spec");
    const auto refuse = [&](const std::string& at, bool wanted) {
      if (wanted)
        context_.report(spec + "." + at, "is refused: containers get no rights of the host");
    };
    refuse("hostNetwork", pod.spec.host_network);
    refuse("hostPID", pod.spec.host_pid);
    refuse("hostIPC", pod.spec.host_ipc);
    for (std::size_t i = 0; i < pod.spec.containers.size(); ++i)
      refuse(config::item_path("containers", i) + ".securityContext.privileged",
             pod.spec.containers[i].privileged);
  }

  static void check_containers(const Pod& pod, const Complain& complain) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < pod.spec.containers.size(); ++i) {
      const Container& one = pod.spec.containers[i];
      const std::string path = config::item_path("spec.containers", i);
      if (!names.insert(one.name).second)
        complain(path + ".name", "'" + one.name + "' is there twice; allowed: each name once");
      if (one.image.starts_with(kRootfsPrefix) && !is_plain(one.image.substr(7)))
        complain(path + ".image", config::quoted(one.image) +
                                      " is no root; allowed: rootfs:NAME, a folder of the agent's "
                                      "--rootfs");
    }
  }

  // A name that leads nowhere but into the folder of roots.
  static bool is_plain(const std::string& name) {
    return !name.empty() && name.size() <= 64 && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || c == '.';
           });
  }

  void read_group(const config::Node& node, const std::string& path) {
    PodGroup group;
    read_mapping(context_, path, node, pod_group_fields(), group);
    check_annotations(group, config::child_path(path, "metadata.annotations"));
    check_name("podgroup " + group.metadata.name, path);
    manifest_.groups.push_back(std::move(group));
  }

  void check_annotations(const PodGroup& group, const std::string& path) {
    for (const auto& [key, value] : group.metadata.annotations)
      if (key.starts_with("tributary/") && key != kJobRequestAnnotation)
        context_.report(config::child_path(path, key),
                        std::string("is unknown; allowed: ") + kJobRequestAnnotation);
    if (!has_job(group)) return;
    const std::string at = config::child_path(path, kJobRequestAnnotation);
    try {
      const JobRequest request = job_request_of(group);
      if (request.job.config.workers != group.min_count)
        context_.report(at, "has job.workers " + std::to_string(request.job.config.workers) +
                                "; allowed: minCount, " + std::to_string(group.min_count));
      if (!request.job.members.empty())
        context_.report(at, "has job.members, which the pods are; leave them out");
      if (request.lease)
        context_.report(at, "has a lease, and the job ends with its pods; leave it out");
    } catch (const config::ConfigErrors& errors) {
      for (const config::ConfigError& error : errors.errors())
        context_.report(at, "line " + std::to_string(error.line) + ": " + error.key_path +
                                (error.key_path.empty() ? "" : ": ") + error.message);
    }
  }

  void check_name(const std::string& name, const std::string& path) {
    if (!names_.insert(name).second)
      context_.report(config::child_path(path, "metadata.name"),
                      "names a second " + name + "; allowed: each name once");
  }

  ReadContext context_;
  Manifest manifest_;
  std::set<std::string> names_;
};

// Documents between lines of "---", each behind as many empty lines as stand before it, so that
// positions are those of the whole text.
std::vector<std::string> documents(std::string_view text) {
  std::vector<std::string> found(1);
  std::size_t lines = 0;
  const auto is_blank = [](const std::string& document) {
    return std::all_of(document.begin(), document.end(),
                       [](char c) { return c == '\n' || c == ' ' || c == '\r'; });
  };
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line == "---" || line == "---\r") {
      if (!is_blank(found.back()))
        found.emplace_back(lines + 1, '\n');
      else
        found.back().push_back('\n');
      continue;
    }
    found.back().append(line).push_back('\n');
  }
  if (found.size() > 1 && is_blank(found.back())) found.pop_back();
  return found;
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::string& file_name) {
  ManifestReader reader(file_name);
  const auto parts = documents(text);
  if (parts.size() > kMostObjects)
    throw config::ConfigErrors({{file_name, 0, 0, "", "has more than 1024 documents"}});
  if (parts.size() == 1) {
    reader.read(config::parse_text(parts[0], file_name), "");
  } else {
    for (std::size_t i = 0; i < parts.size(); ++i)
      reader.read(config::parse_text(parts[i], file_name), config::item_path("document", i));
  }
  return reader.finish();
}

std::string dump(const Pod& pod) {
  return config::write_fields(pod_fields(), pod, 0);
}

std::string dump(const PodGroup& group) {
  return config::write_fields(pod_group_fields(), group, 0);
}

}  // namespace tributary::manager
