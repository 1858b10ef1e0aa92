// Doors of a node: greetings by tenant, leases and permits to read, and proofs of operators.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "pool/link/token.h"
#include "tools/poold/node_server.h"

namespace tributary::poold {
namespace {

using namespace pool;  // all that it serves

constexpr Duration kSendTime = Duration::seconds(10);
// Connections end a greeting that takes longer than theirs.
constexpr Duration kGreetTime = Duration::seconds(10);

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

}  // namespace

bool NodeServer::greet(Connections::Connection& connection, MessageStream& stream, Peer& peer) {
  const auto first = stream.receive(kGreetTime);
  const Hello* const hello = first ? std::get_if<Hello>(&*first) : nullptr;
  if (hello == nullptr) return false;
  const auto refuse = [&](const std::string& text) {
    stream.send(deny(text), kSendTime);
    return false;
  };
  if (hello->version != kProtocolVersion)
    return refuse("speaks version " + std::to_string(kProtocolVersion) + " of the protocol, not " +
                  std::to_string(hello->version));
  const std::size_t slash = std::min(hello->pool.find('/'), hello->pool.size());
  if (hello->pool.substr(0, slash) != config_.name)
    return refuse("is of pool '" + config_.name + "', not of '" + hello->pool + "'");
  if (slash < hello->pool.size()) peer.tenant = hello->pool.substr(slash + 1);
  if (!tokens_.contains(peer.tenant) && !(peer.may_operate && peer.tenant.empty()))
    return refuse(peer.tenant.empty() ? "has tenants; allowed: loaders with `tenant` in their file"
                                      : "has no tenant '" + peer.tenant + "'");
  if (hello->manifest != manifest_->fingerprint())
    return refuse("has another manifest for pool '" + config_.name +
                  "': two pools of one name, or a manifest that was made again for one side alone");
  Challenge challenge{draw_nonce(), {}};
  peer.nonce = hello->nonce;
  peer.nodes_nonce = challenge.nonce;
  const std::string token = token_of(peer);
  challenge.proof = prove(token, Role::node, hello->nonce, challenge.nonce);
  stream.send(challenge, kSendTime);
  const auto second = stream.receive(kGreetTime);
  const Proof* const proof = second ? std::get_if<Proof>(&*second) : nullptr;
  if (proof == nullptr) return false;
  if (!same(proof->proof, prove(token, Role::reader, hello->nonce, challenge.nonce)))
    return refuse(peer.tenant.empty()
                      ? "refuses the token; allowed: that of the pool's token_file"
                      : "refuses the token; allowed: that of the token_file of tenant '" +
                            peer.tenant + "'");
  if (!take_place(peer))
    return refuse("has " + std::to_string(places_each_) +
                  " connections of these loaders; allowed: an equal share for each tenant");
  const Welcome answer = welcome(peer, proof->reads != 0);
  // Before it is told: no newcomer may replace what has been let in.
  if (!connections_.greeted(connection)) return false;
  stream.send(answer, kSendTime);
  return true;
}

std::string NodeServer::token_of(const Peer& peer) const {
  const auto found = tokens_.find(peer.tenant);
  return found == tokens_.end() ? "" : found->second;
}

// Operators who came by the socket have places of their own.
bool NodeServer::take_place(Peer& peer) {
  if (peer.may_operate) return true;
  const std::lock_guard lock(mutex_);
  std::size_t& taken = places_[peer.tenant];
  peer.has_place = taken < places_each_;
  if (peer.has_place) ++taken;
  return peer.has_place;
}

// Those who do not read get no key.
Welcome NodeServer::welcome(Peer& peer, bool reads) {
  std::unique_ptr<ReadPermit> permit = reads ? served_->admit(peer.tenant) : nullptr;
  const RemoteMemory memory = permit ? permit->memory() : RemoteMemory();
  Welcome welcome{node().name,
                  cache_->segment().incarnation(),
                  memory.base,
                  memory.bytes,
                  memory.key,
                  transport(),
                  memory.address,
                  0,
                  0,
                  static_cast<std::uint64_t>(config_.cache.lease.to_ns() / 1'000'000)};
  const std::lock_guard lock(mutex_);
  welcome.generation = cache_->generation();
  if (!permit) return welcome;
  welcome.lease = peer.lease = cache_->leases().open(cache_->generation(), now());
  permits_.emplace(peer.lease, std::move(permit));
  return welcome;
}

// A connection has one lease, which ends with it, and renews no other's: leases of clients that are
// gone would hold dropped memory back.
Message NodeServer::renew(const Renew& wish, std::uint64_t& lease) {
  if (lease == 0) return Failure{"has no lease; allowed: connections of readers"};
  const std::lock_guard lock(mutex_);
  Renewed renewed{cache_->generation(), lease, 1};
  const bool too_far_behind = wish.seen != 0 && wish.seen < cache_->compacted();
  if (wish.lease != lease || too_far_behind || !cache_->leases().renew(lease, wish.seen, now())) {
    auto permit = permits_.extract(lease);
    if (permit.empty()) return Failure{"has ended the lease; connect again"};
    cache_->leases().close(lease);
    renewed.alive = 0;
    renewed.lease = lease = cache_->leases().open(cache_->generation(), now());
    permit.key() = lease;
    permits_.insert(std::move(permit));
  }
  return renewed;
}

Message NodeServer::prove_operator(const Operate& operate, Peer& peer) {
  if (operator_token_.empty())
    return deny("has no operator_token_file; allowed: commands at its machine, by operate_socket");
  if (!same(operate.proof, prove(operator_token_, Role::operates, peer.nonce, peer.nodes_nonce)))
    return deny("refuses the operator's token; allowed: that of the pool's operator_token_file");
  peer.may_operate = true;
  return Text{"{}"};
}

void NodeServer::leave(const Peer& peer) {
  std::unique_ptr<ReadPermit> ended;  // without the mutex: devices take their time
  const std::lock_guard lock(mutex_);
  if (peer.has_place) --places_.at(peer.tenant);
  if (peer.lease == 0) return;
  if (const auto permit = permits_.find(peer.lease); permit != permits_.end()) {
    ended = std::move(permit->second);
    permits_.erase(permit);
  }
  try {
    cache_->leases().close(peer.lease);
    cache_->tidy(now());
  } catch (const std::bad_alloc&) {
    // A later call tidies up.
  }
}

// A reader whose lease has ended reads no more, where its transport can see to that: its memory may
// be another record's. It connects again.
void NodeServer::end_silent() try {
  std::vector<std::unique_ptr<ReadPermit>> ended;  // without the mutex
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  cache_->tidy(now());
  if (served_->kind() == TransportKind::mapped) return;
  for (auto at = permits_.begin(); at != permits_.end();) {
    if (cache_->leases().has(at->first)) {
      ++at;
      continue;
    }
    ended.push_back(std::move(at->second));
    at = permits_.erase(at);
  }
} catch (const std::bad_alloc&) {
  // A later turn ends the rest.
}

}  // namespace tributary::poold
