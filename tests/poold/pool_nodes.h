// A pool of three nodes in this process, with its data set and manifest, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/prng.h"
#include "pool/link/node_link.h"
#include "pool/link/token.h"
#include "pool/loader/loader.h"
#include "tools/poold/node_server.h"

namespace tributary::poold {

namespace fs = std::filesystem;
using namespace pool;  // all that is tested here

inline constexpr std::uint64_t kRecords = 600;

// Record `id` of the data set: a length and bytes that depend on the id alone.
inline std::string record(std::uint64_t id) {
  Prng prng(id + 1);
  std::string out(100 + prng.below(3000), '\0');
  for (char& c : out) c = static_cast<char>(prng.next());
  return out;
}

// Below the ports that the kernel gives to outgoing connections, which might take it before the
// node listens.
inline int free_port() {
  static int next = 15000 + getpid() % 16000;
  for (;;) {
    try {
      close(listen_at("127.0.0.1:" + std::to_string(++next)));
      return next;
    } catch (const StreamError&) {
      if (next > 32000) throw;
    }
  }
}

inline constexpr std::chrono::seconds kPatience(30);

// Returns true once it holds, false if it does not for long.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return condition();
}

inline std::string refusal_of(NodeLink& link, CommandKind kind) {
  try {
    return "took it: " + link.command(kind, 0, kRecords);
  } catch (const StreamError& error) {
    return error.what();
  }
}

class PoolNodesTimed : public testing::Test {
 protected:
  PoolNodesTimed() {
    fs::create_directories(folder_ / "data");
    for (std::uint64_t id = 0; id < kRecords; ++id) write(id, record(id));
    config_.name = "test";
    config_.transport = TransportKind::tcp;
    config_.replicas = 1;
    config_.dataset.store = "file://" + (folder_ / "data").string();
    config_.dataset.manifest = (folder_ / "manifest").string();
    config_.cache.lease = Duration::seconds(30);
    config_.fill.backoff = {Duration::us(100), Duration::us(100), 1};
    for (const char* name : {"a", "b", "c"}) {
      PoolNodeConfig node;
      node.name = name;
      node.address = "127.0.0.1:" + std::to_string(free_port());
      node.memory = "/dev/shm/tributary-poold-test-" + std::to_string(getpid()) + "-" + name;
      node.megabytes = 4;
      config_.nodes.push_back(node);
    }
    make_manifest_again();
    servers_.resize(config_.nodes.size());
  }
  ~PoolNodesTimed() override {
    servers_.clear();
    for (const auto& node : config_.nodes) fs::remove(node.memory);
    fs::remove_all(folder_);
  }

  void write(std::uint64_t id, const std::string& text) {
    char name[32];
    std::snprintf(name, sizeof name, "data/%06llu", static_cast<unsigned long long>(id));
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void make_manifest_again() {
    write_manifest_file(config_.dataset.manifest,
                        make_manifest(*open_store(config_.dataset.store), config_.dataset.layout));
  }
  void start(std::size_t node) { servers_[node] = std::make_unique<NodeServer>(config_, node); }
  void start_all() {
    for (std::size_t n = 0; n < servers_.size(); ++n) start(n);
  }
  LinkTarget target_of(std::size_t node) {
    const ManifestFile manifest(config_.dataset.manifest);
    const PoolNodeConfig& its = config_.nodes[node];
    return {its.address, its.name, greeted_name(config_), manifest->fingerprint(),
            read_token(config_)};
  }
  NodeLink link(std::size_t node, LinkUse use = LinkUse::operate) {
    return NodeLink(target_of(node), use);
  }
  // By the node's socket.
  NodeLink operate(std::size_t node) {
    return NodeLink::to_operate(target_of(node), {operate_socket_of(config_.nodes[node]), ""});
  }
  void fill_all() {
    for (std::size_t n = 0; n < servers_.size(); ++n) {
      NodeLink to = operate(n);
      to.command(CommandKind::fill, 0, kRecords);
      while (servers_[n]->status().fill.running) std::this_thread::yield();
    }
  }
  // Every record once, in batches; how many were wrong.
  int load_all(Loader& loader) {
    int wrong = 0;
    for (std::uint64_t first = 0; first < kRecords; first += 50) {
      std::vector<std::uint64_t> ids;
      std::vector<std::vector<std::byte>> data;
      std::vector<std::span<std::byte>> targets;
      for (std::uint64_t id = first; id < first + 50; ++id) {
        ids.push_back(id * 7 % kRecords);
        data.emplace_back(loader.length(ids.back()));
      }
      targets.assign(data.begin(), data.end());
      loader.get_batch(ids, targets);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string expected = record(ids[i]);
        wrong +=
            std::equal(data[i].begin(), data[i].end(), std::as_bytes(std::span(expected)).begin(),
                       std::as_bytes(std::span(expected)).end())
                ? 0
                : 1;
      }
    }
    return wrong;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("poold-" + std::to_string(getpid()));
  PoolConfig config_;
  std::vector<std::unique_ptr<NodeServer>> servers_;
};

}  // namespace tributary::poold
