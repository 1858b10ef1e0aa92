// Readers and targets of a session; reads are in session_read.cc.
#include "pool/loader/session.h"

namespace tributary::pool {
namespace {

constexpr std::size_t kHeaders = 1024;

}  // namespace

Session::Session(const PoolConfig& config, const Manifest& manifest, std::string token,
                 std::unique_ptr<ReadDomain> domain)
    : config_(config),
      manifest_(manifest),
      placement_(config.placed_nodes(), config.replicas, manifest.group_shift()),
      domain_(std::move(domain)),
      nodes_(config.nodes.size()),
      headers_(kHeaders),
      store_(open_store(config.dataset.store, config.timeouts)),
      keeper_(config, manifest, placement_, std::move(token), *domain_) {
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

LoadCounters Session::counters() {
  LoadCounters out = counters_;
  out.node_failures = keeper_.failures();
  return out;
}

void Session::begin(std::span<const std::uint64_t> ids,
                    std::span<const std::span<std::byte>> targets) {
  items_.clear();
  items_.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    items_.push_back({ids[i], targets[i].first(manifest_.source(ids[i]).length), {}, 0, 0, false});
  take_readers();
  again_.clear();
  from_store_.clear();
}

void Session::take_readers() {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    // A mapping still works after its node's death: only the connection shows it.
    if (node.up() && keeper_.lost(n, node.serial)) fail_node(n, "closed its connection");
    if (node.up()) continue;
    auto connection = keeper_.take(n);
    if (!connection) continue;
    node.reader = std::move(connection->reader);
    node.serial = connection->serial;
    node.incarnation = connection->incarnation;
  }
}

// Closes the reader: nothing arrives in a target after that. Its pending reads go to other nodes.
void Session::fail_node(std::size_t n, const std::string& problem) {
  Node& node = nodes_[n];
  node.reader.reset();
  node.in_flight = 0;
  for (Item& item : items_) {
    if (!item.reading || item.at.node != n) continue;
    item.reading = false;
    free_headers_.push_back(item.header);
    again_.push_back(static_cast<std::size_t>(&item - items_.data()));
  }
  again_.insert(again_.end(), node.waiting.begin(), node.waiting.end());
  node.waiting.clear();
  keeper_.fail(n, node.serial, problem);
}

std::size_t Session::rank_of(std::uint64_t id, std::size_t node) const {
  const Owners owners = placement_.owners(id);
  for (std::size_t rank = 0; rank < owners.count; ++rank)
    if (owners.nodes[rank] == node) return rank;
  return owners.count;
}

}  // namespace tributary::pool
