#include "manager/pods/device_choice.h"

#include <algorithm>
#include <tuple>

namespace tributary::manager {
namespace {

class Chooser {
 public:
  Chooser(const Node& node, const Ask& ask, const Thresholds& thresholds,
          const std::function<bool(const std::vector<std::size_t>&)>& use)
      : node_(node), ask_(ask), use_(use) {
    for (const auto& [kind, count] : ask.devices) {
      kinds_.push_back({eligible(node, ask, kind, thresholds), count});
      sort(kinds_.back().devices);
    }
  }

  bool run() { return kinds_.empty() ? use_({}) : from_kind(0); }

 private:
  struct Kind {
    std::vector<std::size_t> devices;
    std::size_t count;
  };

  void sort(std::vector<std::size_t>& devices) const {
    const auto rank = [this](std::size_t i) {
      const Device& device = node_.devices[i];
      return std::tuple(device.name != ask_.device, device.load, device.free_bytes, i);
    };
    std::sort(devices.begin(), devices.end(),
              [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  }

  bool from_kind(std::size_t kind) {
    if (kind == kinds_.size()) {
      std::vector<std::size_t> sorted = chosen_;
      std::sort(sorted.begin(), sorted.end());
      return use_(sorted);
    }
    return from_device(kind, 0, kinds_[kind].count);
  }

  // A device that is left out leaves out those that are like it.
  bool from_device(std::size_t kind, std::size_t at, std::size_t left) {
    if (left == 0) return from_kind(kind + 1);
    const auto& devices = kinds_[kind].devices;
    while (devices.size() >= at + left) {
      chosen_.push_back(devices[at]);
      if (from_device(kind, at + 1, left - 1)) return true;
      chosen_.pop_back();
      const Device& device = node_.devices[devices[at]];
      if (device.name == ask_.device) return false;  // the pod names it
      do ++at;
      while (at < devices.size() && is_like(node_.devices[devices[at]], device));
    }
    return false;
  }

  const Node& node_;
  const Ask& ask_;
  const std::function<bool(const std::vector<std::size_t>&)>& use_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> chosen_;
};

}  // namespace

bool is_like(const Device& a, const Device& b) {
  return a.kind == b.kind && a.free_bytes == b.free_bytes && a.load == b.load &&
         a.problem == b.problem && a.claimed_by.empty() == b.claimed_by.empty();
}

bool each_choice(const Node& node, const Ask& ask, const Thresholds& thresholds,
                 const std::function<bool(const std::vector<std::size_t>&)>& use) {
  return Chooser(node, ask, thresholds, use).run();
}

}  // namespace tributary::manager
