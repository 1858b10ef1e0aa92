#include "manager/store/store.h"

#include <algorithm>

#include "manager/store/sqlite_store.h"

namespace tributary::manager {

Writer::Writer(Store& store, std::vector<std::string> prefixes) : store_(store) {
  for (std::string& prefix : prefixes) {
    for (const std::string& other : store_.claimed_)
      if (prefix.starts_with(other) || other.starts_with(prefix))
        throw std::logic_error("prefix " + prefix + " has a writer already, by " + other);
    store_.claimed_.insert(prefix);
    prefixes_.push_back(std::move(prefix));
  }
}

Writer::~Writer() {
  for (const std::string& prefix : prefixes_) store_.claimed_.erase(prefix);
}

std::vector<std::uint64_t> Writer::commit(std::span<const Write> writes) {
  std::size_t bytes = 0;
  for (const Write& write : writes) {
    const bool own = std::any_of(prefixes_.begin(), prefixes_.end(),
                                 [&](const auto& prefix) { return write.key.starts_with(prefix); });
    if (!own) throw std::logic_error("key " + write.key + " is another writer's");
    bytes += write.key.size() + (write.value ? write.value->size() : 0);
  }
  if (writes.size() > Store::kMostWrites || bytes > Store::kMostBytes)
    throw std::logic_error("a commit of " + std::to_string(writes.size()) + " writes and " +
                           std::to_string(bytes) +
                           " bytes; allowed: " + std::to_string(Store::kMostWrites) + " and " +
                           std::to_string(Store::kMostBytes));
  return store_.commit(writes);
}

std::unique_ptr<Store> open_store(const std::string& address) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (address.starts_with(kSqlite) && address.size() > kSqlite.size())
    return std::make_unique<SqliteStore>(address.substr(kSqlite.size()));
  throw std::invalid_argument("store '" + address + "'; allowed: sqlite:PATH");
}

}  // namespace tributary::manager
