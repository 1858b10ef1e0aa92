// Which memif connections this process has.
//
// After fork() the child has none: its parent's rings and lock states are of no use to it.
#include <unistd.h>

#include <atomic>
#include <map>
#include <utility>

#include "worker/memif/memif_link.h"

namespace tributary::worker {
namespace {

struct Links {
  const pid_t owner = ::getpid();
  std::mutex guard;  // of:
  std::map<std::pair<std::string, std::uint32_t>, std::weak_ptr<MemifLink>> all;
};

// Never destroyed: a child keeps its parent's, and threads may outlive static objects.
Links& links() {
  static std::atomic<Links*> current = nullptr;
  Links* known = current.load();
  while (known == nullptr || known->owner != ::getpid()) {
    auto* const fresh = new Links;
    if (current.compare_exchange_strong(known, fresh)) return *fresh;
    delete fresh;
  }
  return *known;
}

}  // namespace

std::shared_ptr<MemifLink> MemifLink::at(const std::string& socket, std::uint32_t id) {
  Links& here = links();
  const std::lock_guard lock(here.guard);
  std::erase_if(here.all, [](const auto& link) { return link.second.expired(); });
  auto& place = here.all[{socket, id}];
  auto link = place.lock();
  if (link == nullptr) place = link = std::make_shared<MemifLink>(socket, id);
  return link;
}

}  // namespace tributary::worker
