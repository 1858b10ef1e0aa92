// Bounds what containers write: a container's layer above its image lies on the node's disk, which
// all of them share (Kubernetes, "Local ephemeral storage").
//
//   mounts of the container's process ─▶ its upper layer ─▶ allocated bytes ─▶ beyond the limit?
//
// A container that writes faster than it is looked at passes its limit by what it writes in kPause.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "tools/agentd/pods/reconciler.h"

namespace tributary::agentd {

// The folder of the upper layer of the root mount in a text of /proc/PID/mountinfo; nullopt: the
// root is no overlay.
std::optional<std::string> upper_layer(std::string_view mountinfo);

struct DiskUse {
  std::uint64_t bytes = 0;  // allocated
  std::uint64_t files = 0;  // and folders
};
// Counts a folder and what is below it on the same file system. Ends once it is beyond `most`.
DiskUse disk_use_below(const std::string& folder, const DiskUse& most);
// Counts the container that the process is in; nullopt: the process is gone, or not in an overlay.
std::optional<DiskUse> disk_use_of(int pid, const DiskUse& most, const std::string& proc = "/proc");

class DiskWatch {
 public:
  static constexpr Duration kPause = Duration::seconds(10);
  static constexpr std::uint64_t kMostFiles = 1'000'000;
  using Use = std::function<std::optional<DiskUse>(int pid, const DiskUse& most)>;

  // `usual`: bytes, of containers that say nothing (resources.limits.ephemeral-storage).
  explicit DiskWatch(
      std::uint64_t usual,
      Use use = [](int pid, const DiskUse& most) { return disk_use_of(pid, most); })
      : usual_(usual), use_(std::move(use)) {}

  // Instances with a container that has written more than it may, and why in words. Nothing before
  // kPause has passed since the call that looked.
  std::map<std::string, std::string> look(const Work& work, const Reconciler::Result& result,
                                          Instant now);

 private:
  [[nodiscard]] std::string why_ended(const manager::Container& container, int pid) const;

  const std::uint64_t usual_;
  const Use use_;
  std::optional<Instant> looked_;
};

}  // namespace tributary::agentd
