// A PodBook over the store. A claim is one commit: the records of a pod or group, and a key for
// each of its devices that must not be there yet; so no device is ever given twice.
//
//   pods/NAME, podgroups/NAME    the record, the manifest
//   claims/NODE/DEVICE           instance of the pod that holds the device
//
// Where a group has a job, the job's entry is in the same commit.
// A commit that fails takes the book back to what the store has, at once or, where that cannot be
// read, with the next call; the caller gets the StoreError.
// One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "manager/pods/pod_book.h"
#include "manager/service/pod_jobs.h"
#include "manager/store/store.h"

namespace tributary::manager {

class PodService {
 public:
  // Takes over what an earlier manager left. Throws StoreError, and std::runtime_error for damaged
  // entries.
  PodService(Store& store, const BookLimits& limits, PodBook::Tell tell, Instant now);

  // Each throws StoreError, and as PodBook does.
  void create(const Manifest& manifest, Instant now);
  bool remove(const std::string& pod, Instant now);
  bool remove_group(const std::string& group, Instant now);
  void report(const std::string& node, NodeReport report, Instant now);
  void advance(Instant now);
  // Places what can be placed, each pod or group with a commit of its own. Without `jobs`, groups
  // with a job wait.
  void schedule(const Distances& distances, Instant now, PodJobs* jobs = nullptr);
  // As PodBook's.
  void tend(PodJobs& jobs, Instant now);
  [[nodiscard]] const PodBook& book() const { return book_; }
  // The store took no decision, nor could it be read since: the book has what was not decided. The
  // next call reads again.
  [[nodiscard]] bool is_stale() const { return stale_; }

 private:
  using Values = std::map<std::string, std::optional<std::string>>;

  void load(Instant now);
  void freshen(Instant now);
  void keep(Instant now, PodJobs* jobs = nullptr);
  [[nodiscard]] Values changed_values();
  void add_pod(const std::string& name, Values& values);
  void commit(const Values& values, PodJobs* jobs);

  Store& store_;
  Writer writer_;
  const BookLimits limits_;
  const PodBook::Tell tell_;
  PodBook book_;
  bool stale_ = false;
  std::map<std::string, std::uint64_t> revisions_;          // of stored keys
  std::map<std::string, std::vector<std::string>> claims_;  // keys that a pod has in the store
};

}  // namespace tributary::manager
