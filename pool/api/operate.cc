#include "pool/api/operate.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "pool/link/node_link.h"
#include "pool/loader/manifest_file.h"
#include "pool/loader/pool_config.h"
#include "pool/store/make_manifest.h"

namespace {

using nlohmann::json;
namespace pool = tributary::pool;

enum class Ask : std::uint8_t { what_it_has, to_change };

json ask_nodes(const pool::PoolConfig& config, Ask kind,
               const std::function<std::string(pool::NodeLink&)>& ask) {
  const pool::ManifestFile manifest(config.dataset.manifest);
  const std::string token = pool::read_token(config);
  // A node's socket may let users in who may not read the token.
  const bool has_token =
      kind == Ask::to_change && access(config.operator_token_file.c_str(), R_OK) == 0;
  const std::string operators = has_token ? pool::read_operator_token(config) : "";
  json rows = json::array();
  for (const pool::PoolNodeConfig& node : config.nodes) {
    json row = {{"node", node.name}, {"state", "up"}};
    try {
      const pool::LinkTarget target{node.address, node.name, pool::greeted_name(config),
                                    manifest->fingerprint(), token};
      pool::NodeLink link =
          pool::NodeLink::to_operate(target, {pool::operate_socket_of(node), operators});
      row.update(json::parse(ask(link)));
    } catch (const std::exception& error) {
      row["state"] = error.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json status(const pool::PoolConfig& config) {
  return ask_nodes(config, Ask::what_it_has, [](pool::NodeLink& link) { return link.status(); });
}

json command(const pool::PoolConfig& config, const json& request, pool::CommandKind kind) {
  const auto first = request.value("first", std::uint64_t{0});
  const auto count = request.value("count", ~std::uint64_t{0});
  return ask_nodes(config, Ask::to_change,
                   [&](pool::NodeLink& link) { return link.command(kind, first, count); });
}

json write_manifest(const pool::PoolConfig& config) {
  const auto store = pool::open_store(config.dataset.store, config.timeouts);
  const auto bytes =
      pool::make_manifest(*store, config.dataset.layout, pool::Retry(config.fill.backoff));
  pool::write_manifest_file(config.dataset.manifest, bytes);
  return {{"manifest", config.dataset.manifest},
          {"records", pool::Manifest(bytes).records()},
          {"left_out", store->left_out().count()},
          {"left_out_first", store->left_out().named()}};
}

json configure(const std::string& file, const json& request) {
  pool::LoadConfig load = pool::load_pool_config(file).load;
  const std::string amount_text = request.value("amount", "");
  const std::string target = request.value("target", "");
  if (!amount_text.empty()) {
    const auto amount = pool::parse_amount(amount_text);
    if (!amount)
      throw std::invalid_argument("amount '" + amount_text +
                                  "'; allowed: a number of records, or of KiB, MiB or GiB");
    load.amount = *amount;
  }
  if (!target.empty()) load.target = target;
  if (!amount_text.empty() || !target.empty()) pool::store_load_config(file, load);
  return {{"amount", pool::format_amount(load.amount)}, {"target", load.target}};
}

json operate(const json& request) {
  static const std::map<std::string, pool::CommandKind> commands = {
      {"fill", pool::CommandKind::fill},
      {"pin", pool::CommandKind::pin},
      {"unpin", pool::CommandKind::unpin},
      {"evict", pool::CommandKind::evict},
      {"verify", pool::CommandKind::verify}};
  const auto file = request.at("config").get<std::string>();
  const auto what = request.at("do").get<std::string>();
  if (what == "configure") return configure(file, request);
  const auto config = pool::load_pool_config(file);
  if (what == "status") return status(config);
  if (what == "manifest") return write_manifest(config);
  const auto found = commands.find(what);
  if (found == commands.end()) throw std::invalid_argument("a pool cannot " + what);
  return command(config, request, found->second);
}

json failure(const char* code, const char* error) {
  return {{"ok", false}, {"code", code}, {"error", error}};
}

json answer(const char* request) {
  try {
    return {{"ok", true}, {"reply", operate(json::parse(request))}};
  } catch (const std::invalid_argument& error) {
    return failure("USAGE", error.what());
  } catch (const json::exception& error) {
    return failure("USAGE", error.what());
  } catch (const std::exception& error) {
    return failure("FAILED", error.what());
  }
}

}  // namespace

char* tributary_pool_operate(const char* request) {
  return strdup(answer(request).dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

void tributary_pool_free_reply(char* reply) {
  std::free(reply);
}
