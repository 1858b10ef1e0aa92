#include "tests/manager/histories/world.h"

#include <algorithm>

#include "tests/manager/tree.h"

namespace tributary::manager::histories {
namespace {

const std::array<std::string, 3> kSwitches = {"root", "A", "B"};
constexpr std::size_t kQueue = 3 * kTenants;  // three places for each tenant
constexpr Duration kLease = Duration::seconds(8);

Inventory inventory_of(std::uint32_t slots, const std::set<std::string>& absent) {
  Inventory inventory = two_level_tree();
  for (auto& sw : inventory.switches) sw.slots = slots;
  std::erase_if(inventory.workers, [&](const auto& one) { return absent.contains(one.name); });
  return inventory;
}

}  // namespace

World::World(std::uint64_t seed) : random_(seed), slots_(128u << random_.below(3)) {
  for (const auto& sw : assemble(inventory_of(slots_, {})).switches)
    disk_.capacity[sw.config.name] = capacity_of(sw.config);
  for (const std::string& node : kSwitches)
    switches_[node].slots = chance(20) ? slots_ / 2 : slots_;
  start(0);
}

Service::Setup World::setup() const {
  Service::Setup made;
  for (int i = 0; i < kTenants; ++i) {
    Tenant tenant{.name = "t" + std::to_string(i)};
    if (i % 4 == 0) tenant.quota.jobs = 1;
    made.tenants.push_back(std::move(tenant));
  }
  made.limits.queue = kQueue;
  made.topology = assemble(inventory_of(slots_, absent_));
  return made;
}

bool World::leads(int number) const {
  const Manager& one = managers_[static_cast<std::size_t>(number)];
  return one.cluster && one.store->term() == disk_.term();
}

void World::kill(int number) {
  Manager& one = managers_[static_cast<std::size_t>(number)];
  one.cluster.reset();
  one.store.reset();
  one.sessions.clear();
  one.renewed.clear();
}

// Of the manager that is inside a call of its store.
void World::stand_still(int number) {
  if (depth_ > 0 || calm_) return;
  if (chance(1)) {
    ++counts_.kills;
    throw Killed();
  }
  if (!chance(2)) return;
  ++counts_.pauses;
  ++depth_;
  const int other = 1 - number;
  if (!leads(other)) start(other);
  for (std::uint32_t i = random_.below(12); i > 0; --i) step();
  now_ = now_ + Duration::ms(static_cast<std::int64_t>(random_.below(20'000)));
  advance(other);
  --depth_;
}

void World::listen(int number, const Event& event) {
  Manager& one = managers_[static_cast<std::size_t>(number)];
  if (event.kind == "admitted") {
    ++counts_.admitted;
    one.renewed[event.job] = now_;
  }
  if (event.kind != "expired") return;
  ++counts_.expired;
  const auto at = one.renewed.find(event.job);
  const Instant since = at == one.renewed.end() ? one.started : at->second;
  if (now_ - since < kLease) fault("job " + event.job + " ended within its lease");
}

bool World::start(int number) {
  Manager& one = managers_[static_cast<std::size_t>(number)];
  if (one.inside) return false;
  kill(number);
  absent_.clear();
  if (!calm_ && chance(20)) absent_.insert(chance(50) ? "w4" : "w0");
  ++counts_.takeovers;
  try {
    one.inside = true;
    one.started = now_;
    one.store = std::make_unique<DiskStore>(disk_, [this, number] { stand_still(number); });
    one.cluster = std::make_unique<Cluster>(
        *one.store, setup(), now_, [this, number](const Event& event) { listen(number, event); });
    one.inside = false;
  } catch (const StoreError&) {
    one.inside = false;
    kill(number);
    return false;
  } catch (const Killed&) {
    one.inside = false;
    kill(number);
    return false;
  } catch (const std::exception& error) {
    one.inside = false;
    kill(number);
    fault(std::string("a manager does not start: ") + error.what());
    return false;
  }
  if (leads(number))
    one.cluster->look([this](const Cluster::View& view) { check_kept(view.service); });
  return true;
}

template <typename Call>
bool World::act(int number, Call call) {
  Manager& one = managers_[static_cast<std::size_t>(number)];
  if (!one.cluster || one.inside) return false;
  one.inside = true;
  try {
    call(*one.cluster);
    one.inside = false;
    return true;
  } catch (const StoreError&) {
    ++counts_.refused_commits;
    one.inside = false;
  } catch (const std::invalid_argument&) {
    one.inside = false;
  } catch (const Killed&) {
    one.inside = false;
    kill(number);
  }
  return false;
}

int World::leader() {
  for (int number = 0; number < kManagers; ++number)
    if (leads(number)) return number;
  const int next = static_cast<int>(random_.below(kManagers));
  if (!start(next)) start(1 - next);
  return leads(next) ? next : 1 - next;
}

std::string World::request(std::string& name, bool& leased) {
  name = "job-" + std::to_string(++submitted_);
  leased = chance(40);
  std::string text = "tenant: t" + std::to_string(random_.below(kTenants)) +
                     "\npriority: " + std::to_string(random_.below(3)) + "\n";
  if (leased) text += "lease: 8s\n";
  const std::uint32_t workers = 1 + random_.below(5);
  text += "job:\n  name: " + name + "\n  workers: " + std::to_string(workers) +
          "\n  window: " + std::to_string(32u << random_.below(3)) + "\n";
  if (!chance(40)) return text;
  text += "  members:\n";
  const std::uint32_t first = random_.below(5);
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    text += "  - {rank: " + std::to_string(rank) + ", worker: w" +
            std::to_string((first + rank) % 5) + "}\n";
  return text;
}

void World::submit(int number) {
  std::string name;
  bool leased = false;
  const std::string text = request(name, leased);
  Decision told;
  const Instant now = now_;
  const bool answered =
      act(number, [&](Cluster& cluster) { told = cluster.submit(text, "f", now); });
  // Another one may have led, and ended it, before this one's answer went out.
  if (answered && leads(number) && told.outcome != Outcome::refused && !leased) owed_.insert(name);
  if (answered && told.reason.find("all that may") != std::string::npos)
    managers_[static_cast<std::size_t>(number)].cluster->look([&](const Cluster::View& view) {
      const auto& jobs = view.service.admission().jobs();
      const auto own = std::count_if(jobs.begin(), jobs.end(), [&](const auto& job) {
        return !job.second.admitted() && job.second.request.tenant == told.tenant;
      });
      if (own < 3) fault("tenant " + told.tenant + " has " + std::to_string(own) + " places");
    });
}

void World::cancel(int number) {
  if (submitted_ == 0) return;
  const std::string name =
      "job-" + std::to_string(1 + random_.below(static_cast<std::uint32_t>(submitted_)));
  owed_.erase(name);
  const Instant now = now_;
  act(number, [&](Cluster& cluster) { cluster.cancel(name, now, "asked"); });
}

void World::drain(int number) {
  const std::string worker = "w" + std::to_string(random_.below(5));
  const bool drained = chance(50);
  drained_[worker].reset();
  const Instant now = now_;
  if (act(number, [&](Cluster& cluster) { cluster.drain(worker, drained, now); }) && leads(number))
    drained_[worker] = drained;
}

void World::advance(int number) {
  const Instant now = now_;
  act(number, [&](Cluster& cluster) { cluster.advance(now); });
}

std::optional<World::Document> World::fetch(int number, const std::string& node) {
  std::optional<Document> found;
  act(number, [&](Cluster& cluster) {
    if (!cluster.trouble().empty()) return;
    cluster.look([&](const Cluster::View& view) {
      const std::string text = view.service.document(node);
      const auto [known, is_new] = read_.try_emplace(text);
      if (is_new)
        for (const auto& job : config::parse_assigned(text, "assigned").topology.jobs) {
          const Job& from = view.service.admission().jobs().at(job.config.name);
          known->second[job.config.id] = {job.config.name, job.config.id, from.needs};
        }
      found = Document{number, node, view.service.version(), known->second};
    });
  });
  if (found) check_document(*found);
  return found;
}

// It is what was committed at its version, of this switch: no more and no less.
void World::check_document(const Document& document) {
  const auto* const committed = disk_.at(document.version);
  if (committed == nullptr) return fault("a document of a version that was not committed");
  std::set<std::uint32_t> wanted;
  for (const auto& [id, job] : *committed)
    if (job.needs.contains(document.node)) wanted.insert(id);
  std::set<std::uint32_t> told;
  for (const auto& [id, job] : document.jobs) told.insert(id);
  if (told != wanted)
    fault(document.node + " is told of " + std::to_string(told.size()) + " jobs, and " +
          std::to_string(wanted.size()) + " of its own are committed");
}

void World::deliver(const Document& document, bool reliable) {
  Switch& sw = switches_[document.node];
  if (document.version < sw.highest) return;
  SwitchReport told;
  std::uint64_t slots = 0;
  for (const auto& [id, job] : document.jobs) slots += job.needs.at(document.node).slots;
  const bool news = document.version != sw.highest;
  if (news && (sw.busy || slots > sw.slots)) {
    told.refused = true;
    told.refused_revision = document.version.revision;
    told.problem = sw.busy ? "busy" : "no room";
    counts_.busy += sw.busy ? 1 : 0;
  } else {
    sw.highest = document.version;
    sw.in_force = document.jobs;
  }
  told.applied = sw.highest;
  for (const auto& [id, job] : sw.in_force) told.jobs[id] = silent_.contains(job.name) ? 0 : 1;
  if (reliable || !chance(15)) report(document.from, document.node, told);
}

void World::report(int number, const std::string& node, const SwitchReport& report) {
  Manager& one = managers_[static_cast<std::size_t>(number)];
  if (!one.cluster || one.inside || !one.sessions.contains(node)) return;
  const bool deposed = !leads(number);
  const std::uint64_t unanswered = one.store->unanswered();
  std::vector<std::string> renewed;
  one.cluster->look([&](const Cluster::View& view) {
    for (const auto& [name, job] : view.service.admission().jobs())
      if (const auto at = report.jobs.find(job.id);
          job.admitted() && at != report.jobs.end() && at->second > 0)
        renewed.push_back(name);
  });
  const Instant now = now_;
  bool taken = false;
  const bool done = act(number, [&](Cluster& cluster) {
    taken = cluster.report(node, one.sessions.at(node), report, now);
  });
  // Without a store, which may go while it is asked, jobs run on.
  const bool knows = one.store != nullptr && one.store->unanswered() == unanswered;
  if (deposed && done && taken && knows && !renewed.empty())
    fault("a manager that another follows renews leases");
  if (deposed && !done) ++counts_.fenced_renewals;
  if (!one.cluster || (done && !taken)) return;
  // Where the call failed later, the leases were renewed all the same.
  for (const std::string& name : renewed) one.renewed[name] = now;
}

void World::exchange(int number, const std::string& node, bool reliable) {
  Manager& one = managers_[static_cast<std::size_t>(number)];
  if (!one.cluster || one.inside) return;
  if (!one.sessions.contains(node)) {
    SwitchRegistration made;
    made.name = node;
    made.address = node == "root" ? "10.0.0.10" : node == "A" ? "10.0.0.11" : "10.0.0.12";
    made.ports = {"p0", "p1", "p2", "p3", "spare", "up"};
    made.slots = switches_[node].slots;
    made.bytes = 64u << 20;
    std::uint64_t session = 0;
    const Instant now = now_;
    if (!act(number, [&](Cluster& cluster) { session = cluster.attend(made, now); })) return;
    one.sessions[node] = session;
  }
  const auto document = fetch(number, node);
  if (!document) return;
  if (!reliable && chance(15))
    late_.push_back(*document);
  else if (reliable || !chance(10))
    deliver(*document, reliable);
}

void World::disturb() {
  switch (random_.below(7)) {
    case 0: disk_.full = !disk_.full && chance(50); break;
    case 1: disk_.gone = !disk_.gone && chance(50); break;
    case 2: switches_[kSwitches[random_.below(3)]].busy = chance(60); break;
    case 3:
      if (const int number = static_cast<int>(random_.below(kManagers)); depth_ == 0) {
        ++counts_.kills;
        kill(number);
      }
      break;
    case 4: start(static_cast<int>(random_.below(kManagers))); break;
    case 5:
      if (submitted_ > 0)
        silent_.insert("job-" +
                       std::to_string(1 + random_.below(static_cast<std::uint32_t>(submitted_))));
      break;
    default: {
      const int number = leader();
      if (leads(number)) managers_[static_cast<std::size_t>(number)].store->lose_answer = true;
    }
  }
}

void World::step() {
  now_ = now_ + Duration::ms(static_cast<std::int64_t>(random_.below(1500)));
  // Callers and switches may still know the one that another follows.
  const int number = chance(15) ? static_cast<int>(random_.below(kManagers)) : leader();
  switch (random_.below(12)) {
    case 0:
    case 1:
    case 2: submit(number); break;
    case 3: cancel(number); break;
    case 4: advance(number); break;
    case 5: drain(number); break;
    case 6: disturb(); break;
    case 7:
      if (!late_.empty()) {
        const auto at = late_.begin() + random_.below(static_cast<std::uint32_t>(late_.size()));
        const Document document = *at;
        late_.erase(at);
        deliver(document, false);
      }
      break;
    default: exchange(number, kSwitches[random_.below(3)], false);
  }
}

void World::check_kept(const Service& service) {
  const auto& jobs = service.admission().jobs();
  for (const std::string& name : owed_)
    if (!jobs.contains(name)) fault("job " + name + ", which was answered, is lost");
  for (const auto& [id, stored] : disk_.running()) {
    const auto at = jobs.find(stored.name);
    if (at == jobs.end() || at->second.id != id) {
      fault("job " + stored.name + " runs, and a manager does not know it");
      continue;
    }
    counts_.strays += at->second.stray.empty() ? 0 : 1;
    if (!at->second.described) fault("job " + stored.name + " is told to no switch any more");
  }
  for (const auto& [worker, drained] : drained_)
    if (drained && *drained != service.drained().contains(worker))
      fault("worker " + worker + (*drained ? " is no longer drained" : " is drained again"));
}

void World::check_waiting(const Service& service) {
  std::map<std::string, std::uint64_t> slots;
  for (const auto& [node, sw] : switches_) slots[node] = sw.slots;
  for (const std::string& wrong :
       waits_without_reason(service.admission(), service.drained(), slots))
    fault(wrong);
}

// Each round is longer than the longest rest of a switch that refused.
void World::quiesce(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int number = leader();
    now_ = now_ + Duration::seconds(70);
    // Reports first: they renew what a clock that ran ahead would end.
    for (int turn = 0; turn < 3; ++turn)
      for (const std::string& node : kSwitches) exchange(number, node, true);
    advance(number);
    for (const std::string& node : kSwitches) exchange(number, node, true);
  }
}

// Ends what runs, and what runs thereupon, until nothing does.
void World::end_running() {
  const int number = leader();
  const Cluster& cluster = *managers_[static_cast<std::size_t>(number)].cluster;
  for (bool any = true; any && disk_.faults.empty();) {
    std::vector<std::string> runs;
    cluster.look([&](const Cluster::View& view) {
      for (const auto& [name, job] : view.service.admission().jobs())
        if (job.admitted()) runs.push_back(name);
    });
    any = !runs.empty();
    for (const std::string& name : runs)
      act(number, [&](Cluster& one) { one.cancel(name, now_, "done"); });
    now_ = now_ + Duration::seconds(70);
    advance(number);
    cluster.look([this](const Cluster::View& view) { check_waiting(view.service); });
  }
}

void World::end_all() {
  start(leader());  // with all workers
  quiesce(1);
  drained_.clear();
  owed_.clear();
  for (int worker = 0; worker < 5; ++worker)
    act(leader(),
        [&](Cluster& cluster) { cluster.drain("w" + std::to_string(worker), false, now_); });
  end_running();
  if (!disk_.faults.empty()) return;
  // The rest waits for more than a switch has: each gets its figures.
  for (auto& [node, sw] : switches_) sw.slots = slots_;
  start(leader());
  quiesce(1);
  end_running();
  managers_[static_cast<std::size_t>(leader())].cluster->look([this](const Cluster::View& view) {
    for (const auto& [name, job] : view.service.admission().jobs())
      fault("job " + name + " waits though all others have ended: " + job.waits_for);
  });
}

void World::run(int steps) {
  for (int i = 0; i < steps && disk_.faults.empty(); ++i) step();
  calm_ = true;
  disk_.full = disk_.gone = false;
  for (auto& [node, sw] : switches_) sw.busy = false;
  for (Manager& one : managers_)
    if (one.store) one.store->lose_answer = false;
  late_.clear();
  silent_.clear();
  quiesce(4);
  const auto look = [this](auto check) {
    const int number = leader();
    managers_[static_cast<std::size_t>(number)].cluster->look(
        [&](const Cluster::View& view) { (this->*check)(view.service); });
  };
  look(&World::check_waiting);
  look(&World::check_kept);
  if (!disk_.faults.empty()) return;
  end_all();
}

}  // namespace tributary::manager::histories
