#include "pool/loader/pool_config.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>

#include "config/text/file.h"
#include "pool/store/url.h"

namespace tributary::pool {
namespace {

using namespace config;  // the tables below use its names
using enum Presence;

Codec<Amount> amount_codec() {
  return {"amount", "a number of records, or of KiB, MiB or GiB, such as 4096 or 64 MiB",
          [](const Node& node, Amount& out) -> std::optional<std::string> {
            const auto parsed = parse_amount(node.text);
            if (!parsed) return "is no amount";
            out = *parsed;
            return std::nullopt;
          },
          [](const Amount& amount) { return std::optional(format_amount(amount)); }};
}

Codec<std::string> target_codec() {
  return {"target", "host, or gpu:N with N from 0 to 63",
          [](const Node& node, std::string& out) -> std::optional<std::string> {
            if (node.text != "host") {
              std::uint32_t n = 0;
              const char* const end = node.text.data() + node.text.size();
              if (!node.text.starts_with("gpu:") ||
                  std::from_chars(node.text.data() + 4, end, n).ptr != end || n > 63 ||
                  node.text.size() == 4)
                return "is no target";
            }
            out = node.text;
            return std::nullopt;
          },
          [](const std::string& target) { return std::optional(target); }};
}

Codec<std::string> store_codec() {
  return {"address", "file:///DIRECTORY, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/DIRECTORY",
          [](const Node& node, std::string& out) -> std::optional<std::string> {
            try {
              static_cast<void>(open_store(node.text));
            } catch (const std::exception& error) {
              return std::string("cannot be used: ") + error.what();
            }
            out = node.text;
            return std::nullopt;
          },
          [](const std::string& store) { return std::optional(format_text(store)); }};
}

Codec<std::string> pattern_codec() {
  return {"text", "a pattern of a shell, 1 to 200 characters",
          [](const Node& node, std::string& out) -> std::optional<std::string> {
            if (node.text.empty() || node.text.size() > 200) return "has a wrong length";
            out = node.text;
            return std::nullopt;
          },
          [](const std::string& text) { return std::optional(format_text(text)); }};
}

const Fields<LoadConfig>& load_fields() {
  using L = LoadConfig;
  static const Fields<L> fields = {
      scalar("amount", &L::amount, amount_codec(), "Amount that a load without ids brings."),
      scalar("target", &L::target, target_codec(), "Which memory it is brought to."),
      choice("gpu_path", &L::gpu_path,
             {{"bounce", GpuPath::bounce},
              {"direct", GpuPath::direct},
              {"unchecked", GpuPath::unchecked}},
             "How records get into a GPU: through pinned host memory, or by the RDMA device where "
             "it can, and copied back for the check or not checked but for their headers."),
      scalar(
          "pad", &L::pad, boolean(),
          "Ranks get equally many records of an epoch: its first records come again where needed."),
      scalar("metrics_folder", &L::metrics_folder, absolute_path(),
             "Folder of node_exporter's textfile collector, in which each process that loads keeps "
             "a file of its metrics. Without it they write none."),
  };
  return fields;
}

const Fields<PoolNodeConfig>& node_fields() {
  using N = PoolNodeConfig;
  static const Fields<N> fields = {
      scalar("name", &N::name, identifier(), "Decides, with the id, which records it keeps.",
             required),
      scalar("address", &N::address, listen_address(),
             "Where it listens. Loaders read its memory at the same host.", required),
      scalar("memory", &N::memory, absolute_path(),
             "File in tmpfs or hugetlbfs that is its memory and outlives the process.", required),
      scalar("megabytes", &N::megabytes, integer<std::uint32_t>(1, 64 << 20), "Size of that, MiB."),
      scalar("numa_node", &N::numa_node, or_absent(integer<std::uint32_t>(0, 1023)),
             "NUMA node that the memory comes from."),
      scalar("weight", &N::weight, integer<std::uint32_t>(1, kMaxWeight), "Its share of records."),
      scalar("metrics_listen", &N::metrics_listen, listen_address(), "Where Prometheus asks it."),
      scalar("operate_socket", &N::operate_socket, socket_path(),
             "Unix socket on its machine at which it takes commands of `operators`. Left out: "
             "`memory` with .sock behind it, unless that is too long."),
  };
  return fields;
}

const Fields<DatasetConfig>& dataset_fields() {
  using D = DatasetConfig;
  static const Fields<ManifestOptions> layout = {
      choice("format", &ManifestOptions::format,
             {{"files", DataFormat::files},
              {"tar", DataFormat::tar},
              {"fixed", DataFormat::fixed},
              {"idx", DataFormat::idx}},
             "How objects are records: each file, samples of WebDataset's tar files, records of "
             "one size, IDX files."),
      scalar("record_bytes", &ManifestOptions::record_bytes,
             integer<std::uint64_t>(0, kMaxRecordBytes),
             "Size of each record, with format: fixed."),
      scalar("header_bytes", &ManifestOptions::header_bytes,
             integer<std::uint64_t>(0, kMaxRecordBytes),
             "Bytes before the first record, with format: fixed."),
      scalar("match", &ManifestOptions::match, pattern_codec(), "Which objects belong to it."),
  };
  static const Fields<D> fields = [] {
    Fields<D> all = {
        scalar("store", &D::store, store_codec(), "Where the data comes from.", required),
        scalar("manifest", &D::manifest, absolute_path(),
               "File that says where each record is; `tributary pool fill --manifest` makes it.",
               required),
    };
    for (const auto& inner : layout) {
      Field<D> field;
      field.name = inner.name;
      field.read = [inner](ReadContext& context, const std::string& path, const Node& node,
                           D& owner) { inner.read(context, path, node, owner.layout); };
      field.write = [inner](const D& owner, int indent) {
        return inner.write(owner.layout, indent);
      };
      field.describe = inner.describe;
      all.push_back(field);
    }
    return all;
  }();
  return fields;
}

const Fields<CacheLimits>& cache_fields() {
  using C = CacheLimits;
  static const Fields<C> fields = {
      choice("policy", &C::eviction, {{"none", Eviction::none}, {"oldest", Eviction::oldest}},
             "Policy of a full node: takes no more, or drops the oldest records."),
      scalar("high_water", &C::high_water_percent, integer<std::uint32_t>(1, 100),
             "Percent of the memory beyond which it is full."),
      scalar("lease", &C::lease,
             duration(Duration::ms(100), Duration::seconds(3600), Duration::ms(1)),
             "For how long dropped memory waits for a reader that is silent."),
  };
  return fields;
}

template <typename Inner, typename T, typename Access>
Field<PoolConfig> lifted(const std::string& name, T Inner::*member, Access access,
                         const Codec<T>& codec, const std::string& meaning) {
  const Field<Inner> inner = scalar(name, member, codec, meaning);
  Field<PoolConfig> field;
  field.name = name;
  field.read = [inner, access](ReadContext& context, const std::string& path, const Node& node,
                               PoolConfig& owner) {
    inner.read(context, path, node, access(owner));
  };
  field.write = [inner, access](const PoolConfig& owner, int indent) {
    return inner.write(access(owner), indent);
  };
  field.describe = inner.describe;
  return field;
}

const Fields<PoolConfig>& prefetch_fields() {
  const auto fill = [](auto& c) -> auto& {
    return c.fill;
  };
  const auto backoff = [](auto& c) -> auto& {
    return c.fill.backoff;
  };
  const auto timeouts = [](auto& c) -> auto& {
    return c.timeouts;
  };
  static const Fields<PoolConfig> fields = {
      lifted("parallel", &FillOptions::parallel, fill, integer<std::uint32_t>(1, 256),
             "Requests to the store at once."),
      lifted("retries", &BackoffLimits::retries, backoff, integer<std::uint32_t>(0, 100),
             "Tries after the first that failed."),
      lifted("backoff", &BackoffLimits::first, backoff,
             duration(Duration::ms(1), Duration::seconds(60)),
             "Wait before the first of them; doubled for each."),
      lifted("backoff_max", &BackoffLimits::most, backoff,
             duration(Duration::ms(1), Duration::seconds(600)), "Longest wait."),
      lifted("connect_timeout", &StoreTimeouts::connect, timeouts,
             duration(Duration::ms(100), Duration::seconds(600), Duration::ms(1)),
             "For a connection to the store."),
      lifted("stall_timeout", &StoreTimeouts::stall, timeouts,
             duration(Duration::seconds(1), Duration::seconds(600), Duration::seconds(1)),
             "Time after which a transfer that is slower than `least_rate` is given up."),
      lifted("least_rate", &StoreTimeouts::least_kib_per_second, timeouts,
             integer<std::uint32_t>(1, 1 << 20),
             "Least rate of a transfer from the store, KiB a second; slower ones are tried again."),
      lifted("on_damaged", &FillOptions::on_damaged, fill,
             one_of<OnDamaged>({{"skip", OnDamaged::skip}, {"stop", OnDamaged::stop}}),
             "How a fill goes on where the store cannot be read."),
  };
  return fields;
}

const Fields<TenantConfig>& tenant_fields() {
  static const Fields<TenantConfig> fields = {
      scalar("name", &TenantConfig::name, identifier(), "Each once.", required),
      scalar("token_file", &TenantConfig::token_file, absolute_path(),
             "File with a secret that nodes and the tenant's loaders share.", required),
  };
  return fields;
}

const Fields<PoolConfig>& pool_fields() {
  using P = PoolConfig;
  static const Fields<P> fields = {
      scalar("name", &P::name, identifier(), "One for each pool of a network.", required),
      scalar("token_file", &P::token_file, absolute_path(),
             "File with a secret that nodes and loaders share. Without it and `tenants` keys are "
             "given to all."),
      list("tenants", &P::tenants, tenant_fields(), 0, kMaxTenants,
           "Tenants whose loaders have tokens, keys and places of their own."),
      scalar("tenant", &P::tenant, identifier(),
             "Tenant of the loaders that read this file, one of `tenants`. Left out: they have "
             "`token_file`."),
      scalar(
          "operator_token_file", &P::operator_token_file, absolute_path(),
          "File of mode 0600 with another secret, of nodes and operators: commands may come over "
          "the network. Without it they come by `operate_socket` alone."),
      scalars("operators", &P::operators, identifier(), 0, 64,
              "Users, by name or number, whose commands nodes on their machine take, beside root's "
              "and those of the node's own user."),
      choice("transport", &P::transport,
             {{"auto", TransportKind::automatic},
              {"verbs", TransportKind::verbs},
              {"mapped", TransportKind::mapped},
              {"tcp", TransportKind::tcp},
              {"shm", TransportKind::shm}},
             "Transport of reads. auto: verbs where the node's address is an RDMA device's, else "
             "mapped at a loopback address, else tcp."),
      scalar("replicas", &P::replicas, integer<std::uint32_t>(0, kMaxReplicas),
             "Copies of each record beside the first."),
      list("nodes", &P::nodes, node_fields(), 1, kMaxNodes, "Nodes of the pool."),
      mapping<P, DatasetConfig>(
          "dataset", [](auto& p) -> auto& { return p.dataset; }, dataset_fields(),
          "Records that the pool keeps.", required),
      mapping<P, CacheLimits>(
          "eviction", [](auto& p) -> auto& { return p.cache; }, cache_fields(),
          "How a full node makes room."),
      mapping<P, P>(
          "prefetch", [](auto& p) -> auto& { return p; }, prefetch_fields(),
          "How the store is read."),
      mapping<P, LoadConfig>(
          "load", [](auto& p) -> auto& { return p.load; }, load_fields(), "Requests of loaders."),
  };
  return fields;
}

const Fields<PoolConfig>& file_fields() {
  static const Fields<PoolConfig> fields = {mapping<PoolConfig, PoolConfig>(
      "pool", [](auto& p) -> auto& { return p; }, pool_fields(), "The pool.", required)};
  return fields;
}

void check(const PoolConfig& config, ReadContext& context) {
  std::set<std::string> names;
  std::set<std::string> addresses;
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    const std::string path = item_path("pool.nodes", i);
    if (context.usable(path + ".name") && !names.insert(config.nodes[i].name).second)
      context.report(path + ".name",
                     "'" + config.nodes[i].name + "' is another node's name already");
    if (context.usable(path + ".address") && !addresses.insert(config.nodes[i].address).second)
      context.report(path + ".address", "is another node's address already");
  }
  std::set<std::string> tenants;
  for (std::size_t i = 0; i < config.tenants.size(); ++i) {
    const std::string path = item_path("pool.tenants", i) + ".name";
    if (context.usable(path) && !tenants.insert(config.tenants[i].name).second)
      context.report(path, "'" + config.tenants[i].name + "' is another tenant's name already");
  }
  if (context.usable("pool.tenant") && !config.tenant.empty() && !tenants.contains(config.tenant))
    context.report("pool.tenant", "'" + config.tenant + "' is none of `tenants`");
  const ManifestOptions& layout = config.dataset.layout;
  if (context.usable("pool.dataset.format") && context.usable("pool.dataset.record_bytes") &&
      (layout.format == DataFormat::fixed) != (layout.record_bytes != 0))
    context.report(
        "pool.dataset.record_bytes",
        "is for format: fixed, and needed there; allowed: 1 to " + std::to_string(kMaxRecordBytes));
}

constexpr const char* kTooOpen = "all users may read it; allowed: mode 0600 or 0640";

// The first line of the file; empty without a file. Refused if its mode has one of the `forbidden`
// bits.
std::string read_secret(const std::string& file, mode_t forbidden, const char* refusal) {
  if (file.empty()) return "";
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && (status.st_mode & forbidden) != 0)
    throw std::runtime_error(file + ": " + refusal);
  std::ifstream in(file);
  std::string token;
  if (!std::getline(in, token) || token.size() < 16)
    throw std::runtime_error(file +
                             ": holds no token; allowed: a line of at least 16 "
                             "characters");
  return token;
}

}  // namespace

std::optional<Amount> parse_amount(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number == 0) return std::nullopt;
  std::string unit(at, end);
  while (unit.starts_with(' ')) unit.erase(0, 1);
  if (unit.empty() || unit == "records" || unit == "record") return Amount{number, false};
  const int shift = unit == "B"     ? 0
                    : unit == "KiB" ? 10
                    : unit == "MiB" ? 20
                    : unit == "GiB" ? 30
                                    : -1;
  if (shift < 0 || number > std::numeric_limits<std::uint64_t>::max() >> (shift + 1))
    return std::nullopt;
  return Amount{number << shift, true};
}

std::string format_amount(const Amount& amount) {
  if (!amount.bytes) return std::to_string(amount.number) + " records";
  static constexpr std::pair<int, const char*> kUnits[] = {
      {30, " GiB"}, {20, " MiB"}, {10, " KiB"}};
  for (const auto& [shift, unit] : kUnits)
    if (amount.number % (std::uint64_t{1} << shift) == 0)
      return std::to_string(amount.number >> shift) + unit;
  return std::to_string(amount.number) + " B";
}

std::vector<PlacedNode> PoolConfig::placed_nodes() const {
  std::vector<PlacedNode> out;
  for (const PoolNodeConfig& node : nodes) out.push_back({node.name, node.weight});
  return out;
}

PoolConfig parse_pool_config(std::string_view text, const std::string& file_name) {
  const Node root = parse_text(text, file_name);
  ReadContext context(file_name);
  PoolConfig config;
  read_mapping(context, "", root, file_fields(), config);
  check(config, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return config;
}

PoolConfig load_pool_config(const std::string& path) {
  PoolConfig config = parse_pool_config(read_file(path), path);
  const std::string beside = load_file_of(path);
  if (access(beside.c_str(), F_OK) != 0) return config;
  ReadContext context(beside);
  read_mapping(context, "", parse_text(read_file(beside), beside), load_fields(), config.load);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return config;
}

std::string dump(const PoolConfig& config) {
  return write_fields(file_fields(), config, 0);
}

std::vector<KeyInfo> describe_pool_schema() {
  std::vector<KeyInfo> keys;
  describe_fields(file_fields(), "", keys);
  return keys;
}

std::string load_file_of(const std::string& path) {
  const std::string ending = path.ends_with(".yaml")  ? ".yaml"
                             : path.ends_with(".yml") ? ".yml"
                                                      : "";
  return path.substr(0, path.size() - ending.size()) + ".load.yaml";
}

void store_load_config(const std::string& path, const LoadConfig& load) {
  const std::string file = load_file_of(path);
  const std::string text = write_fields(load_fields(), load, 0);
  ReadContext context(file);
  LoadConfig again;
  read_mapping(context, "", parse_text(text, file), load_fields(), again);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  const std::string fresh = file + ".new";
  {
    std::ofstream out(fresh, std::ios::trunc);
    out << text;
    if (!out.flush()) throw std::runtime_error(fresh + ": cannot be written");
  }
  if (std::rename(fresh.c_str(), file.c_str()) != 0)
    throw std::runtime_error(file + ": cannot be written");
}

std::string operate_socket_of(const PoolNodeConfig& node) {
  if (!node.operate_socket.empty()) return node.operate_socket;
  const std::string beside = node.memory + ".sock";
  return beside.size() < sizeof(sockaddr_un::sun_path) ? beside : "";
}

std::string greeted_name(const PoolConfig& config) {
  return config.tenant.empty() ? config.name : config.name + "/" + config.tenant;
}

std::string read_token(const PoolConfig& config) {
  std::string file = config.token_file;
  for (const TenantConfig& tenant : config.tenants)
    if (tenant.name == config.tenant) file = tenant.token_file;
  return read_secret(file, S_IRWXO, kTooOpen);
}

std::map<std::string, std::string> read_tokens(const PoolConfig& config) {
  std::map<std::string, std::string> tokens;
  for (const TenantConfig& tenant : config.tenants)
    tokens[tenant.name] = read_secret(tenant.token_file, S_IRWXO, kTooOpen);
  if (tokens.empty() || !config.token_file.empty())
    tokens[""] = read_secret(config.token_file, S_IRWXO, kTooOpen);
  return tokens;
}

std::string read_operator_token(const PoolConfig& config) {
  return read_secret(config.operator_token_file, S_IRWXO | S_IRWXG,
                     "other users may read it; allowed: mode 0600");
}

}  // namespace tributary::pool
