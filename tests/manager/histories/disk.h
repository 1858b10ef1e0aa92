// The store that two simulated managers share: what survives them, with the terms of etcd, and the
// ledger of all that was ever committed.
//
//   open ─▶ a higher term; commits of older ones are refused
//   full ─▶ commits are refused; gone ─▶ everything is
//
// Ledger: checks after each commit that no job id was given before, that no switch has more in use
// than it has room, and keeps which jobs ran at each version of the documents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/topology/assigned.h"
#include "manager/admission/amount.h"
#include "manager/store/store.h"

namespace tributary::manager::histories {

struct StoredJob {
  std::string name;
  std::uint32_t id = 0;
  std::map<std::string, Amount> needs;
};

class Disk {
 public:
  std::map<std::string, Amount> capacity;  // by switch
  bool full = false;
  bool gone = false;
  // Of the commits, what goes against the invariants.
  std::vector<std::string> faults;

  [[nodiscard]] std::uint64_t term() const { return term_; }
  std::uint64_t open();
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }
  // The jobs that run, by id.
  [[nodiscard]] std::map<std::uint32_t, StoredJob> running() const;
  // Ids and names of the jobs of a version that a switch may be told; null: none was committed.
  [[nodiscard]] const std::map<std::uint32_t, StoredJob>* at(const config::Version& version) const;

  std::vector<std::uint64_t> commit(std::uint64_t term, std::span<const Write> writes);

 private:
  void read(const Write& write);
  void audit();
  void note_version();

  std::uint64_t term_ = 0;
  std::uint64_t revision_ = 0;
  std::map<std::string, Entry> entries_;
  std::map<std::string, StoredJob> running_;    // of the entries, by key
  std::map<std::uint32_t, std::string> given_;  // ids, ever, and to which job
  std::set<std::uint32_t> live_;
  std::map<config::Version, std::map<std::uint32_t, StoredJob>> versions_;
};

// One manager's connection. `step` is called before and after each of its operations, and may throw
// or let the other manager act: the process stands still meanwhile.
class DiskStore final : public Store {
 public:
  using Step = std::function<void()>;
  DiskStore(Disk& disk, Step step) : disk_(disk), step_(std::move(step)), term_(disk.open()) {}

  [[nodiscard]] std::uint64_t term() const override { return term_; }
  [[nodiscard]] std::optional<Entry> get(std::string_view key) override;
  [[nodiscard]] std::vector<Entry> list(std::string_view prefix) override;
  void check() override;
  // Operations that found no store.
  [[nodiscard]] std::uint64_t unanswered() const { return unanswered_; }
  // The next commit is taken, and its answer lost.
  bool lose_answer = false;

 private:
  std::vector<std::uint64_t> commit(std::span<const Write> writes) override;
  void begin();
  void find();

  Disk& disk_;
  Step step_;
  std::uint64_t term_;
  std::uint64_t unanswered_ = 0;
};

}  // namespace tributary::manager::histories
