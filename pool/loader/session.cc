// Nodes and tables of a session; reads are in session_read.cc.
#include "pool/loader/session.h"

#include <algorithm>

#include "pool/loader/token.h"

namespace tributary::pool {
namespace {

constexpr std::size_t kHeaders = 1024;
constexpr auto kRetryNode = std::chrono::seconds(1);

}  // namespace

Session::Session(const PoolConfig& config, const Manifest& manifest, std::string token,
                 std::unique_ptr<ReadDomain> domain)
    : config_(config),
      manifest_(manifest),
      token_(std::move(token)),
      placement_(config.placed_nodes(), config.replicas, manifest.group_shift()),
      domain_(std::move(domain)),
      table_(manifest.records()),
      nodes_(config.nodes.size()),
      headers_(kHeaders),
      store_(open_store(config.dataset.store, config.timeouts)) {
  for (std::size_t i = kHeaders; i-- > 0;) free_headers_.push_back(i);
  headers_registered_ = domain_->register_buffer(std::as_writable_bytes(std::span(headers_)));
}

Session::~Session() = default;

void Session::register_buffer(std::span<std::byte> buffer) {
  buffers_[buffer.data()] = domain_->register_buffer(buffer);
}

void Session::register_device(const DeviceBuffer& memory) {
  buffers_[memory.bytes.data()] = domain_->register_device(memory);
}

void Session::unregister_buffer(const std::byte* buffer) {
  buffers_.erase(buffer);
}

void Session::connect_nodes() {
  const auto now = Clock::now();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    // A mapping still works after its node's death: only the connection shows it.
    if (nodes_[n].up() && nodes_[n].reader->kind() == TransportKind::mapped &&
        nodes_[n].link->closed())
      fail_node(n, "closed its connection");
    if (nodes_[n].up() || now < nodes_[n].next_try) continue;
    try {
      connect(n);
    } catch (const std::runtime_error& error) {
      fail_node(n, error.what());
    }
  }
}

void Session::connect(std::size_t n) {
  Node& node = nodes_[n];
  const PoolNodeConfig& its = config_.nodes[n];
  node.link.emplace(
      LinkTarget{its.address, its.name, config_.name, manifest_.fingerprint(), token_},
      LinkUse::read, Duration::ms(500));
  try {
    node.reader = domain_->connect(node.link->memory());
    node.next_renewal = Clock::now();
    refresh(n);
  } catch (const std::runtime_error& error) {
    throw StreamError("node " + its.name + " at " + its.address + ": " + error.what());
  }
}

// Closes the reader: nothing arrives in a target after that. Its pending reads go to other nodes.
void Session::fail_node(std::size_t n, const std::string& problem) {
  Node& node = nodes_[n];
  const bool was_up = node.up();
  node.reader.reset();
  node.link.reset();
  node.problem = problem;
  node.next_try = Clock::now() + kRetryNode;
  node.in_flight = 0;
  for (Item& item : items_) {
    if (!item.reading || item.at.node != n) continue;
    item.reading = false;
    free_headers_.push_back(item.header);
    again_.push_back(static_cast<std::size_t>(&item - items_.data()));
  }
  again_.insert(again_.end(), node.waiting.begin(), node.waiting.end());
  node.waiting.clear();
  if (!was_up) return;
  ++counters_.node_failures;
  table_.forget_node(static_cast<std::uint8_t>(n));
  // The replicas of other nodes replace its records.
  for (std::size_t other = 0; other < nodes_.size(); ++other) {
    if (config_.replicas == 0 || !nodes_[other].up()) continue;
    try {
      nodes_[other].link->refresh_all([&](const PlacedRecord& record) { apply(other, record); });
    } catch (const StreamError& error) {
      fail_node(other, error.what());
    }
  }
}

void Session::refresh(std::size_t n) {
  nodes_[n].link->refresh([this, n](const PlacedRecord& record) { apply(n, record); });
}

std::size_t Session::rank_of(std::uint64_t id, std::size_t node) const {
  const Owners owners = placement_.owners(id);
  for (std::size_t rank = 0; rank < owners.count; ++rank)
    if (owners.nodes[rank] == node) return rank;
  return owners.count;
}

// Another node's entry stays if that node comes first among the record's owners.
void Session::apply(std::size_t n, const PlacedRecord& record) {
  const auto known = table_.find(record.id);
  if (is_gone(record)) {
    if (known && known->node == n) table_.forget(record.id);
    return;
  }
  if (record.id >= table_.size() || record.length != manifest_.source(record.id).length ||
      record.offset > nodes_[n].link->welcome().bytes ||
      footprint(record.length) > nodes_[n].link->welcome().bytes - record.offset)
    return;
  if (known && known->node != n && rank_of(record.id, known->node) < rank_of(record.id, n)) return;
  table_.set(record.id,
             {static_cast<std::uint8_t>(n), record.offset, record.length, record.generation});
}

void Session::renew_leases() {
  const auto now = Clock::now();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (!node.up() || now < node.next_renewal) continue;
    const auto third = std::chrono::milliseconds(
        std::clamp<std::uint64_t>(node.link->welcome().lease_ms / 3, 1, 1000));
    node.next_renewal = now + third;
    try {
      if (!node.link->renew()) continue;
      // The lease had ended, and the records dropped meanwhile are not known.
      if (node.link->generation() == 0) table_.forget_node(static_cast<std::uint8_t>(n));
      refresh(n);
    } catch (const StreamError& error) {
      fail_node(n, error.what());
    }
  }
}

std::vector<NodeState> Session::nodes() {
  connect_nodes();
  std::vector<NodeState> out;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    out.push_back({config_.nodes[n].name, node.up(), node.up() ? name_of(node.reader->kind()) : "",
                   node.up() ? "" : node.problem});
  }
  return out;
}

}  // namespace tributary::pool
