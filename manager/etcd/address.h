// Where an etcd is: "etcd:HOST[:PORT],...[/NAME]". NAME tells several clusters on one etcd apart.
#pragma once

#include <string>
#include <vector>

namespace tributary::manager {

struct EtcdAddress {
  std::vector<std::string> endpoints;  // HOST:PORT, one at least
  std::string prefix;                  // of all keys: "NAME/"
};

[[nodiscard]] bool is_etcd_address(const std::string& address);
// Throws std::invalid_argument.
EtcdAddress parse_etcd_address(const std::string& address);

}  // namespace tributary::manager
