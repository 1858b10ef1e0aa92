#include "tools/client/pool/operate.h"

#include <chrono>
#include <ostream>
#include <thread>

#include "pool/loader/manifest_file.h"
#include "pool/store/make_manifest.h"

namespace tributary::client {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr int kLooksPerLine = 10;

}  // namespace

Json ask_nodes(const pool::PoolConfig& config, std::size_t& failed,
               const std::function<std::string(pool::NodeLink&)>& ask) {
  const pool::ManifestFile manifest(config.dataset.manifest);
  const std::string token = pool::read_token(config);
  Json rows = Json::array();
  for (const pool::PoolNodeConfig& node : config.nodes) {
    Json row = {{"node", node.name}, {"state", "up"}};
    try {
      pool::NodeLink link({node.address, node.name, config.name, manifest->fingerprint(), token},
                          pool::LinkUse::operate);
      row.update(Json::parse(ask(link)));
    } catch (const std::exception& error) {
      row["state"] = error.what();
      ++failed;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json status_row(const Json& status) {
  Json row = status;
  const auto fill = row.find("fill");
  if (fill == row.end()) return row;
  const Json filled = *fill;
  row.erase("fill");
  row["fill"] = filled.value("running", false) ? "running" : "idle";
  row["fill_failed"] = filled.value("failed", 0);
  return row;
}

std::uint64_t write_manifest(const pool::PoolConfig& config) {
  const auto store = pool::open_store(config.dataset.store, config.timeouts);
  const auto bytes = pool::make_manifest(*store, config.dataset.layout);
  pool::write_manifest_file(config.dataset.manifest, bytes);
  return pool::Manifest(bytes).records();
}

Json fill_nodes(const pool::PoolConfig& config, const IdRange& range, std::size_t& failed,
                std::ostream& out) {
  ask_nodes(config, failed, [&](pool::NodeLink& link) {
    return link.command(pool::CommandKind::fill, range.first, range.count);
  });
  for (int look = 0;; ++look) {
    std::size_t down = 0;
    Json rows = ask_nodes(config, down, [](pool::NodeLink& link) { return link.status(); });
    bool running = false;
    std::uint64_t stored = 0;
    std::uint64_t bytes = 0;
    for (const Json& row : rows) {
      if (!row.contains("fill")) continue;
      running |= row["fill"]["running"].get<bool>();
      stored += row["fill"]["stored"].get<std::uint64_t>();
      bytes += row["fill"]["stored_bytes"].get<std::uint64_t>();
    }
    if (!running || look % kLooksPerLine == 0)
      out << "filled " << stored << " records, " << (bytes >> 20) << " MiB" << std::endl;
    if (!running) return rows;
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace tributary::client
