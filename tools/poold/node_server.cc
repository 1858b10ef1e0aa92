#include "tools/poold/node_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "pool/link/token.h"

namespace tributary::poold {
namespace {

using namespace pool;  // all that it serves

constexpr int kPauseMs = 100;
constexpr int kTurnMs = 100;  // the acceptor's, for the watchdog
constexpr Duration kSendTime = Duration::seconds(10);
// Connections end a greeting that takes longer than theirs.
constexpr Duration kGreetTime = Duration::seconds(10);
// A connection that asks nothing costs nothing: its thread sleeps until the node or the peer ends
// it.
constexpr Duration kRest = Duration::seconds(3600);

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

std::uint32_t draw_incarnation() {
  std::uint32_t drawn = 0;
  const Nonce nonce = draw_nonce();
  std::memcpy(&drawn, nonce.data(), sizeof drawn);
  return drawn == 0 ? 1 : drawn;
}

MemoryOptions memory_options(const PoolNodeConfig& node) {
  MemoryOptions options{node.memory, std::uint64_t{node.megabytes} << 20, std::nullopt};
  if (node.numa_node) options.numa_node = *node.numa_node;
  return options;
}

int open_spare() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// The record size that gives the index its size. Where sizes differ, a node may hold more of the
// short ones: half of the average leaves room for that.
std::uint64_t index_record_bytes(const Manifest& manifest) {
  if (manifest.head().format == Format::fixed) return manifest.head().record_bytes;
  return manifest.data_bytes() / std::max<std::uint64_t>(manifest.records(), 1) / 2;
}

}  // namespace

NodeServer::NodeServer(const PoolConfig& config, std::size_t node,
                       const Connections::Limits& limits, Report report)
    : report_(std::move(report)),
      config_(config),
      node_(node),
      manifest_(config.dataset.manifest),
      token_(read_token(config)),
      operator_token_(read_operator_token(config)),
      placement_(config.placed_nodes(), config.replicas, manifest_->group_shift()),
      memory_(memory_options(config.nodes[node])),
      store_(open_store(config.dataset.store, config.timeouts)),
      connections_(limits, [this](Connections::Connection& connection, MessageStream& stream) {
        serve(connection, stream);
      }) {
  const std::string host = split_address(config.nodes[node].address).first;
  const TransportKind kind =
      config.transport == TransportKind::automatic ? choose_transport(host) : config.transport;
  if (const auto problem = memlock_problem(memory_.bytes().size());
      problem && kind == TransportKind::verbs)
    throw std::runtime_error(*problem);
  cache_.emplace(memory_.bytes(),
                 Segment::Owner{config.name, config.nodes[node].name, manifest_->fingerprint(),
                                manifest_->records(), index_record_bytes(*manifest_)},
                 draw_incarnation(), config.cache);
  const std::uint64_t group = std::uint64_t{1} << manifest_->group_shift();
  for (std::uint64_t id = 0; id < manifest_->records(); id += group)
    if (placement_.owners(id).contains(node_))
      own_records_ += std::min(group, manifest_->records() - id);
  prefetcher_ = std::make_unique<Prefetcher>(*store_, *manifest_, config.fill);
  served_ = serve_memory(kind, host, {memory_.bytes(), memory_.file()});
  if (const std::string path = operate_socket_of(config.nodes[node]); !path.empty())
    operators_.emplace(path, operators_of(config.operators));
  listener_ = listen_at(config.nodes[node].address);
  fcntl(listener_, F_SETFL, O_NONBLOCK);  // a client may have gone when its turn comes
  spare_ = open_spare();
  acceptor_ = std::thread([this] { listen(); });
}

NodeServer::~NodeServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  if (acceptor_.joinable()) acceptor_.join();
  close(listener_);
  if (spare_ >= 0) close(spare_);
  prefetcher_->stop();
  if (filler_.joinable()) filler_.join();
  connections_.end_all();
}

const char* NodeServer::transport() const {
  return name_of(served_->memory().transport);
}

// Where no descriptor is left, a connection cannot be accepted, and the listener stays ready.
// Accepts one by the spare descriptor and closes it: its loader goes to the store, and tries again.
void NodeServer::refuse_one(int listener) {
  if (spare_ < 0) {  // there was none to take back
    poll(nullptr, 0, kPauseMs);
  } else {
    close(spare_);
    pollfd ready{listener, POLLIN, 0};
    const int fd = poll(&ready, 1, 0) > 0 ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    if (fd >= 0) close(fd);
  }
  spare_ = open_spare();
}

void NodeServer::listen() {
  while (!stopping_) {
    if (mutex_.moves()) turns_.fetch_add(1, std::memory_order_relaxed);
    const int local = operators_ ? operators_->listener() : -1;  // poll() passes over -1
    std::array<pollfd, 2> ready = {{{listener_, POLLIN, 0}, {local, POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), kTurnMs) < 0) continue;
    if (ready[0].revents != 0) accept_from(listener_, false);
    if (ready[1].revents != 0) accept_from(local, true);
    connections_.tidy(now());
  }
}

void NodeServer::accept_from(int listener, bool for_operators) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {
    // Where no descriptor is left, one comes back when a connection makes way for the newcomer.
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (none_left && !stopping_ && !connections_.replace_one()) refuse_one(listener);
    return;
  }
  if (for_operators && !operators_->admits(fd)) {
    close(fd);
    return;
  }
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);  // a host that died says nothing
  connections_.add(fd, for_operators, now());
}

void NodeServer::serve(Connections::Connection& connection, MessageStream& stream) {
  Peer peer;
  peer.may_operate = connection.operates;
  try {
    if (greet(connection, stream, peer)) {
      while (!stopping_) {
        if (const auto message = stream.receive(kRest)) answer(stream, *message, peer);
      }
    }
  } catch (const std::exception&) {
    // Closed, or no message of ours: the connection is of no more use.
  }
  if (peer.lease != 0) end_lease(peer.lease);
}

void NodeServer::end_lease(std::uint64_t lease) {
  const std::lock_guard lock(mutex_);
  try {
    cache_->leases().close(lease);
    cache_->tidy(now());
  } catch (const std::bad_alloc&) {
    // A later call tidies up.
  }
}

Message NodeServer::deny(std::string text) {
  const std::lock_guard lock(mutex_);
  ++denied_;
  return Failure{std::move(text)};
}

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
  if (hello->pool != config_.name)
    return refuse("is of pool '" + config_.name + "', not of '" + hello->pool + "'");
  if (hello->manifest != manifest_->fingerprint())
    return refuse("has another manifest for pool '" + config_.name +
                  "': two pools of one name, or a manifest that was made again for one side alone");
  Challenge challenge{draw_nonce(), {}};
  peer.nonce = hello->nonce;
  peer.nodes_nonce = challenge.nonce;
  challenge.proof = prove(token_, Role::node, hello->nonce, challenge.nonce);
  stream.send(challenge, kSendTime);
  const auto second = stream.receive(kGreetTime);
  const Proof* const proof = second ? std::get_if<Proof>(&*second) : nullptr;
  if (proof == nullptr) return false;
  if (!same(proof->proof, prove(token_, Role::reader, hello->nonce, challenge.nonce)))
    return refuse("refuses the token; allowed: that of the pool's token_file");
  const RemoteMemory& memory = served_->memory();
  Welcome welcome{node().name,
                  cache_->segment().incarnation(),
                  memory.base,
                  memory.bytes,
                  memory.key,
                  name_of(memory.transport),
                  memory.address,
                  0,
                  0,
                  static_cast<std::uint64_t>(config_.cache.lease.to_ns() / 1'000'000)};
  {
    const std::lock_guard lock(mutex_);
    welcome.generation = cache_->generation();
    if (proof->reads != 0) welcome.lease = peer.lease = cache_->leases().open(0, now());
  }
  // Before it is told: no newcomer may replace what has been let in.
  if (!connections_.greeted(connection)) return false;
  stream.send(welcome, kSendTime);
  return true;
}

// A connection has one lease, which ends with it, and renews no other's: leases of clients that are
// gone would hold dropped memory back.
Message NodeServer::renew(const Renew& wish, std::uint64_t& lease) {
  if (lease == 0) return Failure{"has no lease; allowed: connections of readers"};
  const std::lock_guard lock(mutex_);
  Renewed renewed{cache_->generation(), lease, 1};
  const bool too_far_behind = wish.seen != 0 && wish.seen < cache_->compacted();
  if (wish.lease != lease || too_far_behind || !cache_->leases().renew(lease, wish.seen, now())) {
    cache_->leases().close(lease);
    renewed.alive = 0;
    renewed.lease = lease = cache_->leases().open(0, now());
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

void NodeServer::answer(MessageStream& stream, const Message& message, Peer& peer) {
  if (const auto* table = std::get_if<TableRequest>(&message))
    return send_table(stream, table->since);
  Message reply = Failure{"not a request of an operator or loader"};
  if (const auto* lookup = std::get_if<Lookup>(&message)) {
    Entries entries;
    const std::lock_guard lock(mutex_);
    entries.generation = cache_->generation();
    for (const std::uint64_t id : lookup->ids)
      if (const auto record = cache_->find(id); record && entries.records.size() < kMostEntries)
        entries.records.push_back(*record);
    reply = std::move(entries);
  } else if (const auto* wish = std::get_if<Renew>(&message)) {
    reply = renew(*wish, peer.lease);
  } else if (const auto* corrupt = std::get_if<Corrupt>(&message)) {
    const std::lock_guard lock(mutex_);
    const auto record = cache_->find(corrupt->record.id);
    const bool same_one = record && record->generation == corrupt->record.generation;
    if (same_one) cache_->check(corrupt->record.id, now());
    reply = Text{"{}"};
  } else if (const auto* operate = std::get_if<Operate>(&message)) {
    reply = prove_operator(*operate, peer);
  } else if (const auto* command = std::get_if<Command>(&message)) {
    reply = peer.may_operate
                ? run(*command)
                : deny(
                      "takes commands of operators alone; allowed: on its machine its own user, "
                      "root and `operators`, elsewhere the pool's operator_token_file");
  } else if (std::holds_alternative<StatusRequest>(message)) {
    reply = Text{status_text()};
  }
  stream.send(reply, kSendTime);
}

void NodeServer::send_table(MessageStream& stream, std::uint64_t since) {
  std::uint64_t known = since;  // what the reader has seen if changes are compacted meanwhile
  for (;;) {
    Entries entries;
    {
      const std::lock_guard lock(mutex_);
      if (known == 0) known = cache_->generation();
      entries.records = cache_->after(since, kMostEntries);
      entries.more = entries.records.size() == kMostEntries ? 1 : 0;
      entries.generation =
          entries.more != 0 ? entries.records.back().generation : cache_->generation();
      // Changes are missing, so the reader is still behind: its next Renew tells it.
      if (entries.more == 0 && known < cache_->compacted()) entries.generation = known;
    }
    stream.send(entries, kSendTime);
    if (entries.more == 0) return;
    since = entries.generation;
  }
}

}  // namespace tributary::poold
