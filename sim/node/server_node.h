// A parameter server: the real completion::Server behind a simulated network card. This node
// mirrors the daemon that drives it over sockets (tools/psd), and imitates nothing else.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "completion/host/server.h"
#include "core/drop_reason.h"
#include "core/net/frame.h"
#include "sim/node/node.h"

namespace tributary::sim {

class ServerNode;

class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  // Power goes; what the engines counted goes with it.
  virtual void on_server_crash(ServerNode& node) = 0;
  // Something that the server says to all ranks itself (T9).
  virtual void on_server_message(ServerNode& node, const aggregator::Outgoing& message) = 0;
  // A packet was refused, by the wire or integrity checks or by the server.
  virtual void on_server_drop(ServerNode& node, const FrameRef& frame, DropReason reason) = 0;
};

struct ServerOptions {
  std::vector<completion::ServedJob> jobs;
  std::uint32_t ipv4 = 0;
  wire::MacAddress mac{};
  std::uint16_t udp_port = 0;
  std::uint64_t seed = 0;
  Duration heartbeat;
  // By job id: bytes of payload on the wire for one that is carried.
  std::map<std::uint32_t, std::uint32_t> payload_scale;
};

class ServerNode : public Node {
 public:
  ServerNode(std::string name, ServerOptions options, ServerObserver& observer);
  ~ServerNode() override;

  void start(Instant now) override;
  void crash() override;
  void on_frame(std::uint16_t port, const FrameRef& frame, Instant now) override;
  void on_wake(Instant now) override;
  [[nodiscard]] Instant next_wakeup() const override { return wake_at_; }
  [[nodiscard]] std::string waiting_for(Instant now) const override;

  // nullptr while the node is down.
  [[nodiscard]] const completion::Server* server() const;
  [[nodiscard]] std::uint32_t ipv4() const { return options_.ipv4; }

 private:
  struct Running;

  // Does the work of the daemon's writer, in no time.
  void keep_snapshots();
  void send_outbox();
  FrameRef frame_of(const aggregator::Outgoing& message);

  ServerOptions options_;
  ServerObserver& observer_;
  std::uint64_t incarnation_ = 0;
  std::unique_ptr<Running> running_;
  struct Kept {
    std::uint64_t step = 0;
    std::vector<std::byte> values;
  };
  std::map<std::size_t, Kept> disk_;  // by place of the job
  Instant wake_at_ = Instant::max();
};

}  // namespace tributary::sim
