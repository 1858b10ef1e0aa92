#include "sim/node/server_node.h"

#include <cstring>

#include "config/model/switch_config.h"
#include "core/net/udp_peer.h"
#include "core/wire/ecn.h"
#include "core/wire/integrity.h"
#include "sim/node/world.h"

namespace tributary::sim {
namespace {

// Interval of the loop that looks after deadlines and heartbeats.
constexpr Duration kTick = Duration::ms(2);

}  // namespace

struct ServerNode::Running {
  Running(const ServerOptions& o, std::uint64_t nonce)
      : server(o.jobs, {.ipv4 = o.ipv4, .nonce = nonce, .heartbeat = o.heartbeat}),
        outbox(server.outbox_capacity()) {}
  completion::Server server;
  aggregator::Outbox outbox;
};

ServerNode::ServerNode(std::string name, ServerOptions options, ServerObserver& observer)
    : Node(std::move(name)), options_(std::move(options)), observer_(observer) {}
ServerNode::~ServerNode() = default;

void ServerNode::start(Instant now) {
  running_ = std::make_unique<Running>(options_, options_.seed + ++incarnation_);
  for (const auto& [place, kept] : disk_)
    running_->server.model(place)->restore(kept.step, kept.values);
  wake_at_ = now;
}

void ServerNode::crash() {
  observer_.on_server_crash(*this);
  running_.reset();
  wake_at_ = Instant::max();
}

const completion::Server* ServerNode::server() const {
  return running_ ? &running_->server : nullptr;
}

void ServerNode::on_frame(std::uint16_t, const FrameRef& frame, Instant now) {
  const auto ethernet = wire::parse_ethernet(frame.bytes());
  const auto* eth = std::get_if<wire::EthernetView>(&ethernet);
  if (eth == nullptr || eth->destination != options_.mac || eth->ether_type != wire::kEtherTypeIpv4)
    return;
  const auto ip = wire::parse_udp4(eth->payload);
  const auto* udp = std::get_if<std::optional<wire::Udp4View>>(&ip);
  if (udp == nullptr || !*udp || (*udp)->endpoints.destination_ip != options_.ipv4 ||
      (*udp)->endpoints.destination_port != options_.udp_port)
    return;
  const auto refuse = [&](DropReason reason) { observer_.on_server_drop(*this, frame, reason); };
  auto parsed = wire::parse((*udp)->payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return refuse(*bad);
  auto& packet = std::get<wire::Packet>(parsed);
  packet.congestion_experienced = (*udp)->congestion_experienced;
  if (const DropReason bad = wire::check_integrity(**udp, packet); bad != DropReason::none)
    return refuse(bad);
  const wire::UdpPeer from(0, (*udp)->endpoints.source_port, (*udp)->endpoints.source_ip);
  const DropReason what = running_->server.on_packet(packet, from, now, running_->outbox);
  if (what != DropReason::none) refuse(what);
  send_outbox();
}

void ServerNode::on_wake(Instant now) {
  while (running_->server.expire(now, running_->outbox)) send_outbox();
  keep_snapshots();
  wake_at_ = now + kTick;
}

void ServerNode::keep_snapshots() {
  completion::Server& server = running_->server;
  for (std::size_t place = 0; place < server.job_count(); ++place) {
    completion::Model* const model = server.model(place);
    if (model == nullptr || !model->snapshot_ready()) continue;
    const auto values = model->snapshot();
    disk_[place] = {model->snapshot_step(), {values.begin(), values.end()}};
    model->let_go_of_snapshot();
  }
}

void ServerNode::send_outbox() {
  for (const aggregator::Outgoing& message : running_->outbox.items()) {
    if (message.to == aggregator::Outgoing::To::job_group)
      observer_.on_server_message(*this, message);
    world().send(id(), 0, frame_of(message));
  }
  running_->outbox.clear();
}

FrameRef ServerNode::frame_of(const aggregator::Outgoing& message) {
  FrameRef ref = world().frames().take();
  Frame& frame = ref.writable();
  frame.bytes.resize(wire::kUdpPayloadOffset + wire::kHeaderBytes + wire::kMaxExtensionBytes +
                     message.payload.size());
  const std::size_t head = wire::serialize(message.header, message.extension_span(),
                                           std::span(frame.bytes).subspan(wire::kUdpPayloadOffset));
  if (!message.payload.empty()) {
    std::memcpy(frame.bytes.data() + wire::kUdpPayloadOffset + head, message.payload.data(),
                message.payload.size());
    const auto carried = static_cast<std::uint32_t>(message.payload.size());
    frame.data_bytes = carried * options_.payload_scale.at(message.header.job);
    frame.absent_bytes = frame.data_bytes - carried;
  }
  frame.bytes.resize(wire::kUdpPayloadOffset + head + message.payload.size());
  const wire::UdpPeer to(message.peer);
  wire::FrameTemplate t;
  t.destination = message.to == aggregator::Outgoing::To::job_group ? wire::multicast_mac(to.ipv4)
                                                                    : config::derived_mac(to.ipv4);
  t.source = options_.mac;
  t.endpoints = {options_.ipv4, to.ipv4, options_.udp_port, to.udp_port};
  t.dscp_ecn = wire::kEct0;
  wire::write_frame_headers(t, frame.bytes, head + message.payload.size());
  return ref;
}

std::string ServerNode::waiting_for(Instant now) const {
  if (!running_) return "is down";
  std::string text;
  for (const auto& seat : running_->server.status(now)) {
    if (!seat.serving) continue;
    text += "serves job " + std::to_string(seat.job) + " shard " + std::to_string(seat.shard) +
            " epoch " + std::to_string(seat.epoch) + " term " + std::to_string(seat.term) + "; ";
  }
  return text.empty() ? "serves no root" : text;
}

}  // namespace tributary::sim
