#include "manager/store/store.h"

#include <algorithm>

#include "manager/store/sqlite_store.h"

namespace tributary::manager {

Writer::Writer(Store& store, std::vector<std::string> prefixes) : store_(store) {
  for (std::string& prefix : prefixes) {
    for (const std::string& other : store_.claimed_)
      if (prefix.starts_with(other) || other.starts_with(prefix))
        throw std::logic_error(std::string("prefix ")
                                   .append(prefix)
                                   .append(" has a writer already, by ")
                                   .append(other));
    store_.claimed_.insert(prefix);
    prefixes_.push_back(std::move(prefix));
  }
}

Writer::~Writer() {
  for (const std::string& prefix : prefixes_) store_.claimed_.erase(prefix);
}

void Writer::check(std::span<const Write> writes) const {
  for (const Write& write : writes) {
    const bool own = std::any_of(prefixes_.begin(), prefixes_.end(),
                                 [&](const auto& prefix) { return write.key.starts_with(prefix); });
    if (!own) throw std::logic_error("key " + write.key + " is another writer's");
  }
}

std::vector<std::uint64_t> Writer::commit(std::span<const Write> writes) {
  return commit_with(writes, *this, {});
}

std::vector<std::uint64_t> Writer::commit_with(std::span<const Write> writes, const Writer& other,
                                               std::span<const Write> more) {
  check(writes);
  other.check(more);
  std::vector<Write> all(writes.begin(), writes.end());
  all.insert(all.end(), more.begin(), more.end());
  std::size_t bytes = 0;
  for (const Write& write : all)
    bytes += write.key.size() + (write.value ? write.value->size() : 0);
  if (all.size() > Store::kMostWrites || bytes > Store::kMostBytes)
    throw std::logic_error("a commit of " + std::to_string(all.size()) + " writes and " +
                           std::to_string(bytes) +
                           " bytes; allowed: " + std::to_string(Store::kMostWrites) + " and " +
                           std::to_string(Store::kMostBytes));
  return store_.commit(all);
}

std::unique_ptr<Store> open_store(const std::string& address) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.starts_with(kSqlite) && address.size() > kSqlite.size())
    return std::make_unique<SqliteStore>(address.substr(kSqlite.size()));
  throw std::invalid_argument("store '" + address +
                              "'; allowed: sqlite:PATH or etcd:HOST[:PORT],...[/NAME]");
}

}  // namespace tributary::manager
