// Versions of objects, and what changed between two versions: what a watch tells.
//
// All objects of a resource are handed in at once; those that differ from before get the next
// version. The last kKept changes of each resource are known. Pure; the caller locks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/kubernetes/answer.h"
#include "manager/kubernetes/request.h"

namespace tributary::manager::kubernetes {

// Has its resourceVersion.
using Object = std::shared_ptr<const Json>;
using Objects = std::map<std::string, Object>;  // by name

class Ledger {
 public:
  static constexpr std::size_t kKept = 2048;

  struct Change {
    std::uint64_t version = 0;
    Object before;  // null: it was not there
    Object after;   // null: it is gone
  };

  // Versions grow from `first`, so that those of an earlier ledger are not taken for its own.
  explicit Ledger(std::uint64_t first) : first_(first), version_(first) {}

  // The objects that there are now, by name.
  void update(Resource resource, std::map<std::string, Json> now);
  [[nodiscard]] const Objects& objects(Resource resource) { return objects_[resource]; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // nullopt: the version is none of this ledger, or too long ago.
  [[nodiscard]] std::optional<std::vector<Change>> since(Resource resource,
                                                         std::uint64_t version) const;

 private:
  struct Log {
    std::deque<Change> changes;
    std::uint64_t forgotten;  // changes up to this version are not known
  };
  void note(Resource resource, Object before, Object after);

  std::map<Resource, Objects> objects_;
  std::map<Resource, Log> logs_;
  const std::uint64_t first_;
  std::uint64_t version_;
};

}  // namespace tributary::manager::kubernetes
