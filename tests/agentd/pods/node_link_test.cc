// A node's agent goes on where no thread can be started.
#include "tools/agentd/pods/node_link.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/manager/store/scratch.h"
#include "tests/pool/no_threads.h"

namespace tributary::agentd {
namespace {

TEST(NodeLink, OutlivesALackOfThreads) {
  const manager::Scratch scratch;
  Terms terms(scratch.file() + ".term");
  NodeOptions options;
  options.name = "n";
  options.podman = scratch.file() + ".podman";
  const std::string folder = std::filesystem::path(scratch.file()).parent_path();
  options.cdi = folder;
  const manager::Target away{"unix:" + scratch.file() + ".manager", "", "", ""};
  const NodeLink link(away, options, folder, terms);
  const pool::NoThreads none;
  // Each turn starts a stream, with a thread for what comes down.
  for (const std::uint64_t before = link.turns(); link.turns() < before + 2;)
    std::this_thread::yield();
}

}  // namespace
}  // namespace tributary::agentd
