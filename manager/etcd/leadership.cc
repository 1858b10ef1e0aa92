#include "manager/etcd/leadership.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tributary::manager {
namespace {

namespace pb = etcdserverpb;
using Json = nlohmann::ordered_json;

constexpr int kRenewalsPerLease = 3;
constexpr int kRetriesPerLease = 12;

// A host's name or a path may be no UTF-8.
std::string value_of(const Leader& leader) {
  return Json({{"name", leader.name}, {"address", leader.address}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Leader leader_of(const pb::KeyValue& entry) {
  const Json value = Json::parse(entry.value(), nullptr, false);
  if (!value.is_object()) return {"?", "?"};
  const auto text = [&](const char* key) {
    const auto at = value.find(key);
    return at != value.end() && at->is_string() ? at->get<std::string>() : "?";
  };
  return {text("name"), text("address")};
}

std::optional<pb::KeyValue> entry_of(EtcdConnection& etcd) {
  pb::RangeRequest request;
  request.set_key(leader_key(etcd));
  pb::RangeResponse response = etcd.range(request);
  if (response.kvs().empty()) return std::nullopt;
  return std::move(*response.mutable_kvs(0));
}

pb::TxnRequest put_if_absent(const std::string& key, const std::string& value, std::int64_t lease) {
  pb::TxnRequest request;
  pb::Compare& absent = *request.add_compare();
  absent.set_target(pb::Compare::CREATE);
  absent.set_key(key);
  absent.set_create_revision(0);
  pb::PutRequest& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
  put.set_lease(lease);
  request.add_failure()->mutable_request_range()->set_key(key);
  return request;
}

// The term; none: the key is another's.
std::optional<std::int64_t> put_leader(EtcdConnection& etcd, const Leader& own,
                                       std::int64_t lease) {
  const auto answer = etcd.txn(put_if_absent(leader_key(etcd), value_of(own), lease));
  if (answer.response.succeeded()) return answer.response.header().revision();
  if (!answer.asked_before || answer.response.responses().empty()) return std::nullopt;
  // A member that did not answer may have put it.
  const auto& there = answer.response.responses(0).response_range();
  if (there.kvs().empty() || there.kvs(0).lease() != lease) return std::nullopt;
  return there.kvs(0).create_revision();
}

void give_up(EtcdConnection& etcd, std::int64_t lease) {
  try {
    etcd.revoke(lease);
  } catch (const StoreError&) {
    // It runs out.
  }
}

}  // namespace

std::string leader_key(const EtcdConnection& etcd) {
  return etcd.prefix() + "leader";
}

Leadership::Leadership(EtcdConnection& etcd, const EtcdConnection::Grant& grant, std::uint64_t term,
                       Clock::time_point until)
    : etcd_(etcd), lease_(grant.id), time_(grant.time), term_(term), until_(until), thread_([this] {
        run();
      }) {}

Leadership::~Leadership() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  give_up(etcd_, lease_);
}

bool Leadership::is_over() const {
  const std::lock_guard lock(mutex_);
  return lost_ || Clock::now() >= until_;
}

void Leadership::check() const {
  if (is_over())
    throw StoreError(StoreError::Kind::fenced, "store " + etcd_.name() + ": the lease of term " +
                                                   std::to_string(term_) +
                                                   " is over; another manager may lead");
  const std::lock_guard lock(mutex_);
  if (!trouble_.empty()) throw StoreError(StoreError::Kind::gone, trouble_);
}

// An operator may have deleted the key while the lease goes on.
bool Leadership::holds_key() {
  const auto entry = entry_of(etcd_);
  return entry && static_cast<std::uint64_t>(entry->create_revision()) == term_;
}

// Counts from before the question: etcd's own count begins later.
void Leadership::renew() {
  const auto asked = Clock::now();
  std::string trouble;
  bool lost = false;
  std::chrono::seconds time{0};
  try {
    time = etcd_.keep_alive(lease_);
    lost = time.count() == 0 || !holds_key();
  } catch (const StoreError& error) {
    trouble = error.what();
  }
  const std::lock_guard lock(mutex_);
  lost_ |= lost;
  if (trouble.empty() && !lost) until_ = asked + time;
  trouble_ = std::move(trouble);
}

void Leadership::run() {
  std::unique_lock lock(mutex_);
  while (!lost_ && Clock::now() < until_) {
    const auto rest = time_ / (trouble_.empty() ? kRenewalsPerLease : kRetriesPerLease);
    if (wake_.wait_for(lock, rest, [this] { return stopping_; })) return;
    lock.unlock();
    renew();
    lock.lock();
  }
}

Election try_lead(EtcdConnection& etcd, const Leader& own, std::chrono::seconds lease) {
  if (const auto entry = entry_of(etcd)) return {nullptr, leader_of(*entry)};
  const auto asked = Leadership::Clock::now();
  const EtcdConnection::Grant grant = etcd.grant(lease);
  try {
    if (const auto term = put_leader(etcd, own, grant.id))
      return {std::make_unique<Leadership>(etcd, grant, static_cast<std::uint64_t>(*term),
                                           asked + grant.time),
              own};
  } catch (const std::exception&) {
    give_up(etcd, grant.id);
    throw;
  }
  give_up(etcd, grant.id);
  const auto entry = entry_of(etcd);
  return {nullptr, entry ? leader_of(*entry) : Leader{}};
}

}  // namespace tributary::manager
