// The configuration of a pool: one YAML file for its nodes, its loaders and its operators (L3).
//
//   pool:
//     name: train
//     nodes:
//       - {name: a, address: "10.0.0.1:7480", memory: /dev/shm/tributary-pool, megabytes: 4096}
//     dataset: {store: "s3://bucket/train", format: tar, match: "*.tar", manifest: /var/lib/x}
//     load: {amount: 1024 records, target: host}
//
// `tributary pool configure` writes `load` into a file beside it, NAME.load.yaml, which takes
// precedence over the file's own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/text/field.h"
#include "core/time.h"
#include "pool/record/placement.h"
#include "pool/segment/node_cache.h"
#include "pool/store/make_manifest.h"
#include "pool/store/prefetcher.h"
#include "pool/transport/transport.h"

namespace tributary::pool {

struct Amount {
  std::uint64_t number = 256;
  bool bytes = false;  // otherwise: records
  bool operator==(const Amount&) const = default;
};
// "4096", "4096 records", "64 MiB", "1 GiB", "100 KiB". nullopt: none of these, or 0.
std::optional<Amount> parse_amount(const std::string& text);
std::string format_amount(const Amount& amount);

// The way of records into a GPU's memory.
enum class GpuPath : std::uint8_t {
  bounce,     // through pinned host memory, where the CPU checks them
  direct,     // by the RDMA device, then copied back for the check
  unchecked,  // by the RDMA device; the CPU checks only the headers
};

struct LoadConfig {
  Amount amount;
  std::string target = "host";  // or gpu:N
  GpuPath gpu_path = GpuPath::bounce;
  bool pad = true;             // ranks have equally many records; see Uneven
  std::string metrics_folder;  // of loaders' metrics; empty: they write none
  bool operator==(const LoadConfig&) const = default;
};

struct PoolNodeConfig {
  std::string name;
  std::string address;  // HOST:PORT of its control connection; reads use the same host
  std::string memory;   // a file in tmpfs or hugetlbfs
  std::uint32_t megabytes = 1024;
  std::optional<std::uint32_t> numa_node;
  std::uint32_t weight = 1;
  std::string metrics_listen;
  std::string operate_socket;  // empty: see operate_socket_of()
};

struct DatasetConfig {
  std::string store;
  std::string manifest;
  ManifestOptions layout;
};

inline constexpr std::size_t kMaxTenants = 64;

struct TenantConfig {
  std::string name;
  std::string token_file;
};

struct PoolConfig {
  std::string name;
  std::string token_file;  // empty: without tenants every reader gets keys
  std::vector<TenantConfig> tenants;
  std::string tenant;                  // of the processes that load; empty: they have `token_file`
  std::string operator_token_file;     // empty: no commands over the network
  std::vector<std::string> operators;  // users of a node's machine who may give it commands
  TransportKind transport = TransportKind::automatic;
  std::uint32_t replicas = 0;
  std::vector<PoolNodeConfig> nodes;
  DatasetConfig dataset;
  CacheLimits cache;
  FillOptions fill;
  StoreTimeouts timeouts;
  LoadConfig load;

  [[nodiscard]] std::vector<PlacedNode> placed_nodes() const;
};

// Throws config::ConfigErrors. load_pool_config() also reads the file beside it.
PoolConfig load_pool_config(const std::string& path);
PoolConfig parse_pool_config(std::string_view text, const std::string& file_name);
std::string dump(const PoolConfig& config);
std::vector<config::KeyInfo> describe_pool_schema();

// The file in which `configure` keeps the loaders' settings: NAME.load.yaml beside NAME.yaml.
std::string load_file_of(const std::string& path);
// Throws config::ConfigErrors for an invalid one, std::runtime_error if it cannot be written.
void store_load_config(const std::string& path, const LoadConfig& load);

// The socket on the node's machine at which it takes commands: beside its memory unless the file
// says. Empty: the path beside its memory is too long for one.
std::string operate_socket_of(const PoolNodeConfig& node);

// How a reader names its pool to a node: NAME, or NAME/TENANT.
std::string greeted_name(const PoolConfig& config);

// Contents of token files, without the newline; empty if there is none. All throw
// std::runtime_error that names the file. The operators' file is of mode 0600.
std::string read_token(const PoolConfig& config);  // of `tenant`
// Tokens of all that may read, by tenant; the empty one is without a tenant.
std::map<std::string, std::string> read_tokens(const PoolConfig& config);
std::string read_operator_token(const PoolConfig& config);

}  // namespace tributary::pool
