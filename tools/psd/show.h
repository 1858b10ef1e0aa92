// A parameter server's answers to `tributary show`, and its metrics.
#pragma once

#include <prometheus/collectable.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/server/server_config.h"
#include "dataplane/udp/udp_port.h"
#include "tools/psd/server_loop.h"

namespace tributary::psd {

class Show {
 public:
  // `port`: the loop's link, where that is a DPDK port.
  Show(ServerLoop& loop, const config::ServerConfig& config, const dataplane::UdpPort* port)
      : loop_(loop), config_(config), port_(port) {}

  // `what` is seats, completion, escalated, models, ports, drops or config. Throws
  // std::invalid_argument for anything else, and std::runtime_error when the loop does not answer.
  [[nodiscard]] nlohmann::ordered_json table(const std::string& what);

 private:
  nlohmann::ordered_json seats();
  nlohmann::ordered_json completion();
  nlohmann::ordered_json escalated();
  nlohmann::ordered_json models();
  nlohmann::ordered_json ports();
  nlohmann::ordered_json drops();

  ServerLoop& loop_;
  const config::ServerConfig& config_;
  const dataplane::UdpPort* port_;
};

class Metrics : public prometheus::Collectable {
 public:
  // `port`: as of Show.
  Metrics(const ServerLoop& loop, const dataplane::UdpPort* port) : loop_(loop), port_(port) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const ServerLoop& loop_;
  const dataplane::UdpPort* port_;
};

}  // namespace tributary::psd
