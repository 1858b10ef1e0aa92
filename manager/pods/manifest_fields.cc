#include "manager/pods/manifest_fields.h"

#include <nlohmann/json.hpp>

#include "manager/pods/names.h"

namespace tributary::manager {
namespace {

using config::Codec;
using config::Field;
using config::Fields;
using config::Presence;
using config::ReadContext;

constexpr std::size_t kMostText = 64 << 10;
constexpr std::size_t kMostWords = 256;
constexpr std::size_t kMostEntries = 64;         // of labels, annotations and resources
constexpr std::uint32_t kMostGraceSeconds = 10;  // a node ends one container at a time
constexpr std::uint32_t kMostGang = 1024;

std::string json_quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A text that ends up on a line of its own, with its quotes and line breaks escaped.
Codec<std::string> text() {
  return {"text", "text of at most 65536 bytes",
          [](const config::Node& node, std::string& out) -> std::optional<std::string> {
            if (node.text.size() > kMostText) return "is too long";
            out = node.text;
            return std::nullopt;
          },
          [](const std::string& value) {
            return value.empty() ? std::nullopt : std::optional(json_quoted(value));
          }};
}

// An item of a list is written even when it is empty.
Codec<std::string> word() {
  Codec<std::string> codec = text();
  codec.format = [](const std::string& value) { return std::optional(json_quoted(value)); };
  return codec;
}

Codec<std::string> dns_name() {
  Codec<std::string> codec = text();
  codec.allowed = kAllowedNames;
  codec.parse = [](const config::Node& node, std::string& out) -> std::optional<std::string> {
    if (!is_name(node.text)) return "is not a name";
    out = node.text;
    return std::nullopt;
  };
  return codec;
}

template <typename Owner>
Field<Owner> text_map(const std::string& name, TextMap Owner::*member, const std::string& meaning) {
  const std::string allowed =
      "a mapping of texts, at most " + std::to_string(kMostEntries) + " entries";
  Field<Owner> field;
  field.name = name;
  field.container = true;
  field.read = [=](ReadContext& context, const std::string& path, const config::Node& node,
                   Owner& owner) {
    if (node.kind == config::Node::Kind::null) return;
    if (node.kind != config::Node::Kind::mapping || node.entries.size() > kMostEntries)
      return context.fail(path, node.mark,
                          std::string("is ") + name_of(node.kind) + "; allowed: " + allowed);
    for (const config::Entry& entry : node.entries) {
      const std::string inner = config::child_path(path, config::printable_key(entry.key.text));
      context.note(inner, entry.value.mark);
      if (entry.value.kind != config::Node::Kind::scalar)
        context.fail(inner, entry.key.mark,
                     std::string("is ") + name_of(entry.value.kind) + "; allowed: text");
      else
        (owner.*member)[entry.key.text] = entry.value.text;
    }
  };
  field.write = [=](const Owner& owner, int indent) -> std::string {
    std::string out;
    for (const auto& [key, value] : owner.*member)
      out += config::indentation(indent + 1) + json_quoted(key) + ": " + json_quoted(value) + "\n";
    return out.empty() ? "" : config::indentation(indent) + name + ":\n" + out;
  };
  field.describe = [=](const std::string& path, std::vector<config::KeyInfo>& out) {
    out.push_back({path, "mapping", "none", allowed, meaning});
  };
  return field;
}

// A field whose value is known: read to be checked, and written back.
template <typename Owner>
Field<Owner> constant(const std::string& name, const std::string& value) {
  Field<Owner> field;
  field.name = name;
  field.presence = Presence::required;
  field.read = [=](ReadContext& context, const std::string& path, const config::Node& node,
                   Owner&) {
    if (node.text != value)
      context.fail(path, node.mark,
                   config::quoted(node.text) + " is not served; allowed: " + value);
  };
  field.write = [=](const Owner&, int indent) {
    return config::indentation(indent) + name + ": " + value + "\n";
  };
  field.describe = [=](const std::string& path, std::vector<config::KeyInfo>& out) {
    out.push_back({path, "text", "required", value, "The kind of object."});
  };
  return field;
}

// Kubernetes' tools write "null" for what they leave to the server.
Field<Metadata> creation_field() {
  Field<Metadata> field = config::scalar("creationTimestamp", &Metadata::created, text(),
                                         "Written by the manager, whatever is given.");
  field.read = [read = field.read](ReadContext& context, const std::string& path,
                                   const config::Node& node, Metadata& owner) {
    if (node.kind != config::Node::Kind::null) read(context, path, node, owner);
  };
  return field;
}

const Fields<Metadata>& metadata_fields() {
  using M = Metadata;
  static const Fields<M> fields = {
      config::scalar("name", &M::name, dns_name(), "Unique in the cluster.", Presence::required),
      config::choice<M, std::string>("namespace", &M::space, {{"default", "default"}},
                                     "The only namespace."),
      creation_field(), text_map("labels", &M::labels, "For the user."),
      text_map("annotations", &M::annotations, "Where to place the pod.")};
  return fields;
}

const Fields<Resources>& resource_fields() {
  static const Fields<Resources> fields = {
      text_map("limits", &Resources::limits, "The most that the container may have."),
      text_map("requests", &Resources::requests, "Default: as the limits.")};
  return fields;
}

// The keys of securityContext lie in the container itself.
const Fields<Container>& security_fields() {
  static const Fields<Container> fields = {
      config::scalar("privileged", &Container::privileged, config::boolean(), "Has to be false."),
      config::scalar("readOnlyRootFilesystem", &Container::read_only_root, config::boolean(),
                     "Nothing can be written to the root filesystem.")};
  return fields;
}

const Fields<Container>& container_fields() {
  using C = Container;
  static const Fields<EnvVar> env = {
      config::scalar("name", &EnvVar::name, text(), "The variable.", Presence::required),
      config::scalar("value", &EnvVar::value, text(), "Its value.")};
  static const Fields<C> fields = {
      config::scalar("name", &C::name, dns_name(), "Unique in the pod.", Presence::required),
      config::scalar("image", &C::image, text(), "A reference, or rootfs:NAME.",
                     Presence::required),
      config::scalars("command", &C::command, word(), 0, kMostWords, "Replaces the entry point."),
      config::scalars("args", &C::args, word(), 0, kMostWords, "Arguments of the command."),
      config::list("env", &C::env, env, 0, kMostWords, "Environment."),
      config::scalar("workingDir", &C::working_dir, text(), "Default: the image's."),
      config::mapping<C, Resources>(
          "resources", [](auto& c) -> auto& { return c.resources; }, resource_fields(),
          "CPUs, memory and devices."),
      config::mapping<C, C>(
          "securityContext", [](auto& c) -> auto& { return c; }, security_fields(), "Rights.")};
  return fields;
}

const Fields<Toleration>& toleration_fields() {
  using T = Toleration;
  static const Fields<T> fields = {
      config::scalar("key", &T::key, text(), "As the taint has it."),
      config::choice<T, T::Match>("operator", &T::match,
                                  {{"Equal", T::Match::equal}, {"Exists", T::Match::exists}},
                                  "How the value is compared."),
      config::scalar("value", &T::value, text(), "As the taint has it."),
      config::choice<T, std::string>("effect", &T::effect,
                                     {{"NoSchedule", "NoSchedule"}, {"NoExecute", "NoExecute"}},
                                     "Default: every effect.")};
  return fields;
}

const Fields<PodSpec>& spec_fields() {
  using S = PodSpec;
  static const Fields<S> group = {
      config::scalar("podGroupName", &S::group, dns_name(), "A PodGroup.", Presence::required)};
  static const Fields<S> fields = {
      config::scalar("nodeName", &S::node_name, dns_name(), "Default: the scheduler chooses."),
      config::choice<S, RestartPolicy>("restartPolicy", &S::restart_policy,
                                       {{"Always", RestartPolicy::always},
                                        {"OnFailure", RestartPolicy::on_failure},
                                        {"Never", RestartPolicy::never}},
                                       "When a container has ended or its node is lost."),
      config::mapping<S, S>(
          "schedulingGroup", [](auto& s) -> auto& { return s; }, group, "The pod's group."),
      config::list("tolerations", &S::tolerations, toleration_fields(), 0, kMostEntries,
                   "Taints that do not matter."),
      config::scalar("hostNetwork", &S::host_network, config::boolean(), "Has to be false."),
      config::scalar("hostPID", &S::host_pid, config::boolean(), "Has to be false."),
      config::scalar("hostIPC", &S::host_ipc, config::boolean(), "Has to be false."),
      config::scalar("terminationGracePeriodSeconds", &S::grace_seconds,
                     config::integer<std::uint32_t>(0, kMostGraceSeconds),
                     "Between SIGTERM and SIGKILL."),
      config::list("containers", &S::containers, container_fields(), 1, kMostContainers,
                   "Run together on one node.")};
  return fields;
}

const Fields<PodGroup>& group_spec_fields() {
  using G = PodGroup;
  static const Fields<G> gang = {
      config::scalar("minCount", &G::min_count, config::integer<std::uint32_t>(1, kMostGang),
                     "Pods that are placed at once, or none.", Presence::required)};
  static const Fields<G> policy = {config::mapping<G, G>(
      "gang", [](auto& g) -> auto& { return g; }, gang, "All or none.", Presence::required)};
  static const Fields<G> constraints = {config::choice<G, Together>(
      "topologyKey", &G::together, {{kHostLabel, Together::host}, {kLeafLabel, Together::leaf}},
      "Pods of the group share this.")};
  static const Fields<G> fields = {
      config::mapping<G, G>(
          "schedulingPolicy", [](auto& g) -> auto& { return g; }, policy,
          "How the group is placed.", Presence::required),
      config::mapping<G, G>(
          "schedulingConstraints", [](auto& g) -> auto& { return g; }, constraints,
          "Where its pods are in relation to each other.")};
  return fields;
}

template <typename Owner>
Field<Owner> metadata_field() {
  return config::mapping<Owner, Metadata>(
      "metadata", [](auto& o) -> auto& { return o.metadata; }, metadata_fields(),
      "Name and annotations.", Presence::required);
}

}  // namespace

const Fields<Pod>& pod_fields() {
  static const Fields<Pod> fields = {
      constant<Pod>("apiVersion", "v1"), constant<Pod>("kind", "Pod"), metadata_field<Pod>(),
      config::mapping<Pod, PodSpec>(
          "spec", [](auto& p) -> auto& { return p.spec; }, spec_fields(),
          "Containers and where they may run.", Presence::required)};
  return fields;
}

const Fields<PodGroup>& pod_group_fields() {
  static const Fields<PodGroup> fields = {
      constant<PodGroup>("apiVersion", "scheduling.k8s.io/v1alpha2"),
      constant<PodGroup>("kind", "PodGroup"), metadata_field<PodGroup>(),
      config::mapping<PodGroup, PodGroup>(
          "spec", [](auto& g) -> auto& { return g; }, group_spec_fields(), "How it is placed.",
          Presence::required)};
  return fields;
}

}  // namespace tributary::manager
