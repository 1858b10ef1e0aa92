// The options of tributary-managerd.
#pragma once

#include <string>

#include "manager/api/server.h"
#include "manager/etcd/connection.h"
#include "tools/cli/app.h"

namespace tributary::managerd {

struct Options {
  std::string store = "sqlite:/var/lib/tributary-manager/state.db";
  manager::EtcdTls etcd_tls;
  std::string name;  // among several managers
  double lead_lease_s = 5;
  std::string topology = "/etc/tributary/topology.yaml";
  std::string tenants = "/etc/tributary/tenants.yaml";
  std::string http = "127.0.0.1:9403";
  std::string kubernetes;
  bool check = false;
  std::string log_level = "info";
  std::string log_format = "text";
  double load_below = 0.9;
  double node_lease_s = 30;
  manager::ListenOptions listen{"/run/tributary-manager/manager.sock", "", {}};
  int ready_fd = -1;
};

void add_options(cli::App& app, Options& options);

}  // namespace tributary::managerd
