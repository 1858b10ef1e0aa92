#include "tools/poold/probes.h"

#include <chrono>
#include <string>
#include <thread>

namespace tributary::poold {
namespace {

using std::chrono::steady_clock;

constexpr Duration kTurn = Duration::seconds(2);  // twenty times that of a node at rest
constexpr std::chrono::milliseconds kLook(5);

std::string standstill(const NodeServer& server) {
  if (goes_on([&server] { return server.turns(); }, kTurn)) return {};
  return "node " + server.node().name +
         " accepts no connections, or a thread does not let go of its records\n";
}

// Asks for the status: only of a node that goes on.
std::string unfinished_fill(const NodeServer& server) {
  const NodeStatus status = server.status();
  if (!status.fill.running) return {};
  return "node " + server.node().name + " is being filled: it holds " +
         std::to_string(status.records) + " records, of " + std::to_string(status.own_records) +
         "\n";
}

}  // namespace

bool goes_on(const std::function<std::uint64_t()>& turns, Duration limit) {
  const auto end = steady_clock::now() + std::chrono::nanoseconds(limit.to_ns());
  for (const std::uint64_t before = turns(); turns() == before;) {
    if (steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

control::HttpServer::Pages probe_pages(const NodeServer& server) {
  const auto health = [&server] { return standstill(server); };
  return control::probe_pages(health, [&server, health] {
    const std::string wrong = health();
    return wrong.empty() ? unfinished_fill(server) : wrong;
  });
}

}  // namespace tributary::poold
