#include "manager/etcd/etcd_store.h"

#include <utility>

namespace tributary::manager {
namespace {

namespace pb = etcdserverpb;

constexpr std::int64_t kEntriesPerAnswer = 256;
constexpr const char* kBelow = "state/";  // beside the key "leader"

// The first key behind all that begin with `prefix`.
std::string end_of(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

std::uint64_t revision_of(const pb::KeyValue& entry) {
  return static_cast<std::uint64_t>(entry.mod_revision());
}

// The entry that a range of one key has found; null: none.
const pb::KeyValue* found_in(const pb::ResponseOp& response) {
  const auto& found = response.response_range().kvs();
  return found.empty() ? nullptr : &found.Get(0);
}

}  // namespace

std::string EtcdStore::key_of(std::string_view key) const {
  return etcd_.prefix() + kBelow + std::string(key);
}

std::optional<Entry> EtcdStore::get(std::string_view key) {
  leadership_.check();
  pb::RangeRequest request;
  request.set_key(key_of(key));
  pb::RangeResponse response = etcd_.range(request);
  if (response.kvs().empty()) return std::nullopt;
  pb::KeyValue& entry = *response.mutable_kvs(0);
  return Entry{std::string(key), std::move(*entry.mutable_value()), revision_of(entry)};
}

// Page by page, all of one revision.
std::vector<Entry> EtcdStore::list(std::string_view prefix) {
  leadership_.check();
  const std::size_t own = key_of("").size();
  std::vector<Entry> entries;
  pb::RangeRequest request;
  request.set_key(key_of(prefix));
  request.set_range_end(end_of(request.key()));
  request.set_limit(kEntriesPerAnswer);
  for (;;) {
    pb::RangeResponse response = etcd_.range(request);
    for (pb::KeyValue& entry : *response.mutable_kvs())
      entries.push_back(
          {entry.key().substr(own), std::move(*entry.mutable_value()), revision_of(entry)});
    if (!response.more() || response.kvs().empty()) return entries;
    if (request.revision() == 0) request.set_revision(response.header().revision());
    request.set_key(response.kvs(response.kvs_size() - 1).key() + '\0');
  }
}

// Where a comparison fails, the keys' values are the answer, that of "leader" first.
pb::TxnRequest EtcdStore::request_of(std::span<const Write> writes) const {
  pb::TxnRequest request;
  pb::Compare& leads = *request.add_compare();
  leads.set_target(pb::Compare::CREATE);
  leads.set_key(leader_key(etcd_));
  leads.set_create_revision(static_cast<std::int64_t>(leadership_.term()));
  request.add_failure()->mutable_request_range()->set_key(leads.key());
  for (const Write& write : writes) {
    const std::string key = key_of(write.key);
    pb::Compare& unchanged = *request.add_compare();
    unchanged.set_target(pb::Compare::MOD);
    unchanged.set_key(key);
    unchanged.set_mod_revision(static_cast<std::int64_t>(write.expected));
    if (write.value) {
      pb::PutRequest& put = *request.add_success()->mutable_request_put();
      put.set_key(key);
      put.set_value(*write.value);
    } else {
      request.add_success()->mutable_request_delete_range()->set_key(key);
    }
    request.add_failure()->mutable_request_range()->set_key(key);
  }
  return request;
}

// Revisions of a commit that a member has taken and not answered; empty: it has not.
std::vector<std::uint64_t> EtcdStore::done_before(std::span<const Write> writes,
                                                  const pb::TxnResponse& response) const {
  std::vector<std::uint64_t> revisions;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const pb::KeyValue* const there = found_in(response.responses(static_cast<int>(i) + 1));
    const bool as_written = writes[i].value
                                ? there != nullptr && there->value() == *writes[i].value &&
                                      revision_of(*there) != writes[i].expected
                                : there == nullptr;
    if (!as_written) return {};
    revisions.push_back(there == nullptr ? 0 : revision_of(*there));
  }
  return revisions;
}

std::vector<std::uint64_t> EtcdStore::commit(std::span<const Write> writes) {
  leadership_.check();
  const auto answer = etcd_.txn(request_of(writes));
  const pb::TxnResponse& response = answer.response;
  std::vector<std::uint64_t> revisions;
  if (response.succeeded()) {
    for (const Write& write : writes)
      revisions.push_back(write.value ? static_cast<std::uint64_t>(response.header().revision())
                                      : 0);
    return revisions;
  }
  if (static_cast<std::size_t>(response.responses_size()) != writes.size() + 1)
    throw StoreError(StoreError::Kind::gone,
                     "store " + etcd_.name() + ": an answer makes no sense");
  if (answer.asked_before) revisions = done_before(writes, response);
  if (!revisions.empty()) return revisions;
  const pb::KeyValue* const leader = found_in(response.responses(0));
  if (leader == nullptr ||
      static_cast<std::uint64_t>(leader->create_revision()) != leadership_.term())
    throw StoreError(StoreError::Kind::fenced, "store " + etcd_.name() +
                                                   ": another manager leads; this one had term " +
                                                   std::to_string(leadership_.term()));
  throw StoreError(StoreError::Kind::conflict,
                   "store " + etcd_.name() + ": a key of " + writes[0].key +
                       " and others has another revision than it is to have");
}

}  // namespace tributary::manager
