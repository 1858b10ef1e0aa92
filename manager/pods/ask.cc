#include "manager/pods/ask.h"

#include <charconv>
#include <optional>

#include "manager/pods/quantity.h"

namespace tributary::manager {
namespace {

constexpr std::uint32_t kMostDevices = 64;
constexpr std::uint32_t kMostSeconds = 31 * 86'400;

std::optional<std::uint32_t> parse_count(const std::string& text) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count > kMostDevices)
    return std::nullopt;
  return count;
}

std::optional<double> parse_share(std::string_view text) {
  double share = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), share, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !(share > 0 && share <= 1))
    return std::nullopt;
  return share;
}

bool is_device_kind(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash != std::string::npos && slash > 0 && slash + 1 < name.size() &&
         name.find('/', slash + 1) == std::string::npos;
}

class AskReader {
 public:
  AskReader(const Pod& pod, const Complain& complain) : pod_(pod), complain_(complain) {}

  Ask read() {
    ask_.pod = pod_.metadata.name;
    ask_.node = pod_.spec.node_name;
    ask_.tolerations = pod_.spec.tolerations;
    for (std::size_t i = 0; i < pod_.spec.containers.size(); ++i)
      read_resources(pod_.spec.containers[i].resources,
                     "spec.containers[" + std::to_string(i) + "].resources.");
    if (!asks_cpu_ && ask_.devices.empty())
      complain_("spec.containers",
                "ask for no device; a pod that is to run on CPUs has resources.limits.cpu");
    read_annotations();
    return std::move(ask_);
  }

 private:
  // A resource's request is its limit where there is no request.
  void read_resources(const Resources& resources, const std::string& path) {
    const auto at = [&path](const char* key, const std::string& name) {
      return std::string(path).append(key).append(name);
    };
    for (const auto& [name, value] : resources.requests) add(name, value, at("requests.", name));
    for (const auto& [name, value] : resources.limits) {
      if (!resources.requests.contains(name)) {
        add(name, value, at("limits.", name));
        continue;
      }
      check(name, value, at("limits.", name));
      if (is_device_kind(name) && resources.requests.at(name) != value)
        complain_(at("requests.", name), "is not the limit, and devices cannot be shared");
    }
  }

  void check(const std::string& name, const std::string& value, const std::string& path) {
    const Ask kept = ask_;
    add(name, value, path);
    ask_ = kept;
  }

  void add(const std::string& name, const std::string& value, const std::string& path) {
    if (name == "cpu") {
      asks_cpu_ = true;
      const auto millis = parse_cpu_millis(value);
      if (!millis) return complain_(path, "'" + value + "' is not a number of CPUs; example: 500m");
      ask_.cpu_millis += *millis;
    } else if (name == "memory") {
      const auto bytes = parse_bytes(value);
      if (!bytes)
        return complain_(path, "'" + value + "' is not an amount of bytes; example: 64Mi");
      ask_.memory_bytes += *bytes;
    } else if (name == kDiskResource) {
      if (!parse_bytes(value))
        complain_(path, "'" + value + "' is not an amount of bytes; example: 1Gi");
    } else if (name == kPortKind) {
      complain_(path, "is what pods of a group with tributary/job-request get; leave it out");
    } else if (is_device_kind(name)) {
      const auto count = parse_count(value);
      if (!count)
        return complain_(path, "'" + value + "' is not a number of devices; allowed: 0 to 64");
      if (*count > 0) ask_.devices[name] += *count;
    } else {
      complain_(path,
                "is no resource; allowed: cpu, memory, ephemeral-storage, and kinds of devices as "
                "vendor/kind");
    }
  }

  void read_annotations() {
    for (const auto& [key, value] : pod_.metadata.annotations) {
      const std::string path = "metadata.annotations." + key;
      if (key == kDeviceAnnotation)
        read_device(value, path);
      else if (key == kDeviceMemoryAnnotation)
        read_device_memory(value, path);
      else if (key == kLoadBelowAnnotation)
        read_load_below(value, path);
      else if (key == kJobAnnotation)
        ask_.job = value;
      else if (key == kIdleAnnotation)
        ask_.idle_after_s = read_seconds(value, 1, path);
      else if (key == kTtlAnnotation)
        ask_.ttl_s = read_seconds(value, 0, path);
      else if (key == kPackingAnnotation)
        read_packing(value, path);
      else if (key.starts_with("tributary/"))
        complain_(path,
                  "is unknown; allowed: tributary/device, tributary/device-memory, "
                  "tributary/idle-seconds, tributary/job, tributary/load-below, tributary/packing, "
                  "tributary/ttl-seconds-after-finished");
    }
  }

  void read_device(const std::string& value, const std::string& path) {
    const std::size_t slash = value.find('/');
    ask_.device = slash == std::string::npos ? value : value.substr(slash + 1);
    const std::string node = slash == std::string::npos ? "" : value.substr(0, slash);
    if (ask_.device.empty() || (slash != std::string::npos && node.empty()))
      return complain_(path, "'" + value + "' is no device; allowed: NODE/DEVICE or DEVICE");
    if (!node.empty() && !ask_.node.empty() && node != ask_.node)
      return complain_(path, "names node " + node + ", and spec.nodeName is " + ask_.node);
    if (!node.empty()) ask_.node = node;
    if (ask_.devices.empty()) complain_(path, "names a device, and the pod asks for none");
  }

  void read_device_memory(const std::string& value, const std::string& path) {
    const auto bytes = parse_bytes(value);
    if (!bytes) return complain_(path, "'" + value + "' is not an amount of bytes; example: 8Gi");
    ask_.device_memory = *bytes;
    if (ask_.devices.empty()) complain_(path, "is for devices, and the pod asks for none");
  }

  void read_load_below(const std::string& value, const std::string& path) {
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t end = std::min(value.find(',', at), value.size());
      const std::string part = value.substr(at, end - at);
      const std::size_t equals = part.find('=');
      const std::string kind = equals == std::string::npos ? "" : part.substr(0, equals);
      const auto share = parse_share(equals == std::string::npos ? part : part.substr(equals + 1));
      if (!share)
        return complain_(path, "'" + part +
                                   "' is no share above 0 and at most 1; examples: 0.5, "
                                   "example.com/npu=0.5");
      ask_.load_below[kind] = *share;
      at = end + 1;
    }
  }

  // `least` to kMostSeconds.
  std::uint32_t read_seconds(const std::string& value, std::uint32_t least,
                             const std::string& path) {
    std::uint32_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error == std::errc{} && end == value.data() + value.size() && seconds >= least &&
        seconds <= kMostSeconds)
      return seconds;
    complain_(path, "'" + value + "' is no number of seconds; allowed: " + std::to_string(least) +
                        " to " + std::to_string(kMostSeconds));
    return least;
  }

  void read_packing(const std::string& value, const std::string& path) {
    ask_.pack = value == "pack";
    if (value != "pack" && value != "spread")
      complain_(path, "'" + value + "' is unknown; allowed: pack, spread");
  }

  const Pod& pod_;
  const Complain& complain_;
  Ask ask_;
  bool asks_cpu_ = false;
};

bool is_same(const Toleration& a, const Toleration& b) {
  return a.key == b.key && a.match == b.match && a.value == b.value && a.effect == b.effect;
}

}  // namespace

bool Ask::runs_on_cpus() const {
  return devices.size() == devices.count(kPortKind);
}

bool Ask::is_like(const Ask& other) const {
  return cpu_millis == other.cpu_millis && memory_bytes == other.memory_bytes &&
         devices == other.devices && device_memory == other.device_memory &&
         load_below == other.load_below && node == other.node && device == other.device &&
         job == other.job && pack == other.pack &&
         std::equal(tolerations.begin(), tolerations.end(), other.tolerations.begin(),
                    other.tolerations.end(), is_same);
}

double Ask::threshold(const std::string& kind, double otherwise) const {
  auto at = load_below.find(kind);
  if (at == load_below.end()) at = load_below.find("");
  return at == load_below.end() ? otherwise : at->second;
}

Ask ask_of(const Pod& pod, const Complain& complain) {
  return AskReader(pod, complain).read();
}

}  // namespace tributary::manager
