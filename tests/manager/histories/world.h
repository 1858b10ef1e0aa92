// A history: two managers on one store, three switches and 100 tenants, by the seed alone.
//
//   clock    one, moved by the history; a call goes on with the time at which it began
//   store    Disk: full, gone, an answer that is lost
//   managers each stands still before or after any operation of its store, while the other takes
//            over and acts; or is killed there, and loses all but the store
//   network  documents come late, in another order or not at all; so do reports
//   switches busy (refuse any document), or with less memory than their figures
//
// Faults are what goes against the invariants; none is right.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/prng.h"
#include "manager/service/cluster.h"
#include "tests/manager/histories/disk.h"

namespace tributary::manager::histories {

constexpr int kTenants = 100;
constexpr int kManagers = 2;

// Coverage, so that a test can tell that histories have what they are for.
struct Counts {
  std::uint64_t pauses = 0;
  std::uint64_t kills = 0;
  std::uint64_t takeovers = 0;
  std::uint64_t refused_commits = 0;  // full, gone, fenced, lost
  std::uint64_t busy = 0;
  std::uint64_t admitted = 0;
  std::uint64_t expired = 0;
  std::uint64_t strays = 0;
  std::uint64_t fenced_renewals = 0;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  // Steps with faults, then a time without any, after which nothing waits that has room.
  void run(int steps);
  [[nodiscard]] const std::vector<std::string>& faults() const { return disk_.faults; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Killed {};
  struct Manager {
    std::unique_ptr<DiskStore> store;
    std::unique_ptr<Cluster> cluster;
    bool inside = false;  // a call is on its way
    std::map<std::string, std::uint64_t> sessions;
    std::map<std::string, Instant> renewed;  // by job: since when its lease may have run
    Instant started;
  };
  struct Switch {
    config::Version highest;
    std::map<std::uint32_t, StoredJob> in_force;
    std::uint64_t slots = 0;
    bool busy = false;
  };
  // From a manager to a switch.
  struct Document {
    int from = 0;
    std::string node;
    config::Version version;
    std::map<std::uint32_t, StoredJob> jobs;
  };

  bool chance(std::uint32_t percent) { return random_.below(100) < percent; }
  void fault(const std::string& what) { disk_.faults.push_back(what); }
  [[nodiscard]] Service::Setup setup() const;

  // Calls of a manager. False: it is down, stands still, was killed or has no store.
  template <typename Call>
  bool act(int number, Call call);
  bool start(int number);
  void kill(int number);
  void stand_still(int number);
  void listen(int number, const Event& event);
  [[nodiscard]] bool leads(int number) const;
  int leader();

  void step();
  void disturb();
  void submit(int number);
  void cancel(int number);
  void drain(int number);
  void exchange(int number, const std::string& node, bool reliable);
  std::optional<Document> fetch(int number, const std::string& node);
  void check_document(const Document& document);
  void deliver(const Document& document, bool reliable);
  void report(int number, const std::string& node, const SwitchReport& report);
  [[nodiscard]] std::string request(std::string& name, bool& leased);
  void advance(int number);

  void quiesce(int rounds);
  void check_kept(const Service& service);
  void check_waiting(const Service& service);
  void end_running();
  void end_all();

  Prng random_;
  Disk disk_;
  Counts counts_;
  Instant now_;
  std::array<Manager, kManagers> managers_;
  std::map<std::string, Switch> switches_;
  std::vector<Document> late_;
  // By a document's text: its jobs. Most are fetched again and again.
  std::map<std::string, std::map<std::uint32_t, StoredJob>> read_;
  std::set<std::string> absent_;  // workers that the file lacks at the next start
  std::set<std::string> silent_;  // jobs without members
  std::map<std::string, std::optional<bool>> drained_;  // as answered; nullopt: not known
  std::set<std::string> owed_;  // jobs that were answered and have no reason to end
  std::uint32_t slots_ = 0;
  int depth_ = 0;  // of managers that stand still
  bool calm_ = false;
  int submitted_ = 0;
};

// Jobs that wait though they have their room, in words. `slots`: of the switches themselves.
std::vector<std::string> waits_without_reason(const Admission& admission,
                                              const std::set<std::string>& drained,
                                              const std::map<std::string, std::uint64_t>& slots);

}  // namespace tributary::manager::histories
