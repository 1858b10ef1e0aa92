#include "tools/agentd/pods/lease.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tools/program/output_file.h"

namespace tributary::agentd {

Lease::Lease(std::string path, std::string boot) : path_(std::move(path)), boot_(std::move(boot)) {
  std::ifstream file(path_);
  std::string kept_boot;
  std::int64_t end = 0;
  if (file >> kept_boot >> end && kept_boot == boot_) end_ = Instant::from_ns(end);
}

void Lease::sent(std::uint64_t sequence, Instant now) {
  sent_[sequence] = now;
  if (sent_.size() > kMostInFlight) sent_.erase(sent_.begin());
}

void Lease::acknowledged(std::uint64_t sequence, Duration lease) {
  const auto at = sent_.find(sequence);
  if (at == sent_.end()) return;
  end_ = std::max(end_, at->second + Duration::ns(lease.to_ns() / 4 * 3));
  sent_.erase(sent_.begin(), std::next(at));
  tools::write_file(path_, boot_ + " " + std::to_string(end_.to_ns()) + "\n");
}

}  // namespace tributary::agentd
