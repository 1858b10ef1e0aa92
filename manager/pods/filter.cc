#include "manager/pods/filter.h"

#include <algorithm>
#include <cmath>

#include "manager/pods/quantity.h"

namespace tributary::manager {
namespace {

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.match == Toleration::Match::exists)
    return toleration.key.empty() || toleration.key == taint.key;
  return toleration.key == taint.key && toleration.value == taint.value;
}

const Taint* untolerated(const Node& node, const Ask& ask) {
  for (const Taint& taint : node.taints)
    if (std::none_of(ask.tolerations.begin(), ask.tolerations.end(),
                     [&](const Toleration& one) { return tolerates(one, taint); }))
      return &taint;
  return nullptr;
}

std::string text_of(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

// A threshold of 1 lets every load in.
bool is_above(double load, double threshold) {
  return threshold < 1 && load >= threshold;
}

// The first cause against one device, in the order in which a user can do something about it.
Verdict judge_device(const Device& device, const Ask& ask, const std::string& kind,
                     const Thresholds& thresholds) {
  if (!device.problem.empty()) return {Cause::device_problem, kind};
  if (!device.claimed_by.empty()) return {Cause::device_in_use, kind};
  // A port of a switch has no memory.
  if (kind != kPortKind && device.free_bytes < ask.device_memory)
    return {Cause::device_memory, kind, static_cast<double>(device.free_bytes)};
  if (is_above(device.load, ask.threshold(kind, thresholds.load_below)))
    return {Cause::device_load, kind, device.load};
  return {};
}

bool is_better(Cause cause, double value, double than) {
  return cause == Cause::device_load || cause == Cause::cpu_load ? value < than : value > than;
}

// The device that came nearest speaks for all of them.
Verdict judge_kind(const Node& node, const Ask& ask, const std::string& kind, std::uint32_t count,
                   const Thresholds& thresholds) {
  std::uint32_t good = 0;
  Verdict nearest{Cause::no_device, kind};
  for (const Device& device : node.devices) {
    if (device.kind != kind) continue;
    const Verdict verdict = judge_device(device, ask, kind, thresholds);
    if (verdict.cause == Cause::none)
      ++good;
    else if (verdict.cause > nearest.cause ||
             (verdict.cause == nearest.cause &&
              is_better(verdict.cause, verdict.best, nearest.best)))
      nearest = verdict;
  }
  return good >= count ? Verdict{} : nearest;
}

bool has_named_device(const Node& node, const Ask& ask, const Thresholds& thresholds,
                      Verdict& verdict) {
  const auto device = std::find_if(node.devices.begin(), node.devices.end(),
                                   [&](const Device& one) { return one.name == ask.device; });
  if (device == node.devices.end() || !ask.devices.contains(device->kind)) {
    verdict = {Cause::no_device, ask.device};
    return false;
  }
  verdict = judge_device(*device, ask, device->kind, thresholds);
  return verdict.cause == Cause::none;
}

std::string share(double value) {
  const auto hundredths = static_cast<int>(std::lround(value * 100));
  return std::to_string(hundredths) + "%";
}

}  // namespace

std::vector<std::size_t> eligible(const Node& node, const Ask& ask, const std::string& kind,
                                  const Thresholds& thresholds) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    if (node.devices[i].kind == kind &&
        judge_device(node.devices[i], ask, kind, thresholds).cause == Cause::none)
      found.push_back(i);
  return found;
}

Verdict judge(const Node& node, const Ask& ask, const Thresholds& thresholds) {
  if (!node.ready) return {Cause::not_ready};
  if (!ask.node.empty() && ask.node != node.name) return {Cause::other_node, ask.node};
  if (const Taint* const taint = untolerated(node, ask)) return {Cause::taint, text_of(*taint)};
  Verdict verdict;
  if (!ask.device.empty() && !has_named_device(node, ask, thresholds, verdict)) return verdict;
  for (const auto& [kind, count] : ask.devices) {
    verdict = judge_kind(node, ask, kind, count, thresholds);
    if (verdict.cause != Cause::none) return verdict;
  }
  const std::uint64_t free_cpu = node.cpu_millis - std::min(node.cpu_millis, node.cpu_millis_used);
  if (ask.cpu_millis > free_cpu) return {Cause::cpu, "", static_cast<double>(free_cpu)};
  const std::uint64_t free_memory =
      node.memory_bytes - std::min(node.memory_bytes, node.memory_used);
  if (ask.memory_bytes > free_memory) return {Cause::memory, "", static_cast<double>(free_memory)};
  if (ask.runs_on_cpus() && is_above(node.cpu_load, ask.threshold("cpu", thresholds.load_below)))
    return {Cause::cpu_load, "", node.cpu_load};
  return {};
}

std::size_t room_for(const Node& node, const Ask& ask, const Thresholds& thresholds,
                     std::size_t most) {
  if (judge(node, ask, thresholds).cause != Cause::none) return 0;
  std::size_t room = ask.device.empty() ? most : 1;
  for (const auto& [kind, count] : ask.devices)
    room = std::min(room, eligible(node, ask, kind, thresholds).size() / count);
  if (ask.cpu_millis > 0)
    room = std::min<std::size_t>(room, (node.cpu_millis - node.cpu_millis_used) / ask.cpu_millis);
  if (ask.memory_bytes > 0)
    room = std::min<std::size_t>(room, (node.memory_bytes - node.memory_used) / ask.memory_bytes);
  return room;
}

void Tally::add(const Verdict& verdict) {
  ++nodes_;
  Row& row = rows_[{verdict.cause, verdict.subject}];
  if (row.count++ == 0 || is_better(verdict.cause, verdict.best, row.best)) row.best = verdict.best;
}

std::string Tally::phrase(Cause cause, const std::string& subject, double best) const {
  const auto bytes = [](double value) { return format_bytes(static_cast<std::uint64_t>(value)); };
  switch (cause) {
    case Cause::none: return "fit, but not with the rest of the group";
    case Cause::not_ready: return "not ready";
    case Cause::other_node: return "not " + subject;
    case Cause::taint: return "with taint " + subject;
    case Cause::no_device: return "without enough " + subject;
    case Cause::device_problem: return "with " + subject + " out of order";
    case Cause::device_in_use: return "with " + subject + " in use";
    case Cause::device_memory:
      return "with less than " + format_bytes(ask_.device_memory) + " free on " + subject +
             " (most " + bytes(best) + ")";
    case Cause::device_load:
      return "with load of " + subject + " not below " +
             share(ask_.threshold(subject, thresholds_.load_below)) + " (least " + share(best) +
             ")";
    case Cause::cpu_load:
      return "with CPU load not below " + share(ask_.threshold("cpu", thresholds_.load_below)) +
             " (least " + share(best) + ")";
    case Cause::cpu:
      return "with less than " + std::to_string(ask_.cpu_millis) + "m CPU free (most " +
             std::to_string(static_cast<std::uint64_t>(best)) + "m)";
    case Cause::memory:
      return "with less than " + format_bytes(ask_.memory_bytes) + " memory free (most " +
             bytes(best) + ")";
  }
  return "";
}

std::string Tally::text() const {
  std::string out = "0/" + std::to_string(nodes_) + " nodes are available";
  const char* before = ": ";
  for (const auto& [key, row] : rows_) {
    out += before + std::to_string(row.count) + " " + phrase(key.first, key.second, row.best);
    before = ", ";
  }
  return out;
}

}  // namespace tributary::manager
