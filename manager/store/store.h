// Where the manager's state outlives it: keys, values and revisions, as etcd and SQLite both can.
//
//   a value     has a revision, which each write of it raises; 0: the key is not there
//   a commit    is taken whole or not at all, and only if every write names its key's revision
//   a prefix    has one writer in the manager: claim() gives it, and a second claim is an error
//   a term      grows with every manager that opens the store. A commit of an older term fails, so
//               a manager that still believes it leads decides nothing more
//
// Coded to the intersection: at most kMostWrites and kMostBytes a commit, which is what etcd takes
// by default, less the comparison of the term and the keys' second mention; no leases, no watches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::manager {

struct Entry {
  std::string key;
  std::string value;
  std::uint64_t revision = 0;
};

struct Write {
  std::string key;
  std::optional<std::string> value;  // none: the key is deleted
  std::uint64_t expected = 0;        // revision that the key has now
};

class StoreError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    conflict,  // a key has another revision
    fenced,    // another manager has opened the store since
    held,      // another manager has the store open
    full,      // no room for the commit
    gone       // the store cannot be read or written
  };
  StoreError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

class Store {
 public:
  static constexpr std::size_t kMostWrites = 127;
  static constexpr std::size_t kMostBytes = 5u << 18;  // 1.25 MiB

  virtual ~Store() = default;

  // The number of this opening; constant.
  [[nodiscard]] virtual std::uint64_t term() const = 0;
  // Each throws StoreError.
  [[nodiscard]] virtual std::optional<Entry> get(std::string_view key) = 0;
  [[nodiscard]] virtual std::vector<Entry> list(std::string_view prefix) = 0;
  // Throws when it cannot be read, or another manager has opened it since.
  virtual void check() = 0;

 private:
  friend class Writer;
  // Revisions of the keys afterwards, in the order of the writes; 0 for deleted ones.
  virtual std::vector<std::uint64_t> commit(std::span<const Write> writes) = 0;

  std::set<std::string> claimed_;
};

// The only way to write below a prefix.
class Writer {
 public:
  // Throws std::logic_error when one of the prefixes, or one inside it or around it, is claimed.
  Writer(Store& store, std::vector<std::string> prefixes);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Throws StoreError; std::logic_error for keys of other prefixes and for commits that are too
  // large.
  std::vector<std::uint64_t> commit(std::span<const Write> writes);
  // One commit of two writers of one store: the writes of this one, then those of the other.
  std::vector<std::uint64_t> commit_with(std::span<const Write> writes, const Writer& other,
                                         std::span<const Write> more);

 private:
  void check(std::span<const Write> writes) const;

  Store& store_;
  std::vector<std::string> prefixes_;
};

// "sqlite:PATH"; one in etcd is opened by its leader (manager/etcd/etcd_store.h). Throws
// std::invalid_argument for anything else, StoreError when it cannot be opened.
std::unique_ptr<Store> open_store(const std::string& address);

}  // namespace tributary::manager
