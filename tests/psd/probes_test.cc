// A parameter server as an orchestrator's probes see it.
#include "tools/psd/probes.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace tributary::psd {
namespace {

TEST(ServerProbesTimed, AServerIsWellAndReadyWhileItsLoopAnswers) {
  config::ServerConfig config;
  config.ipv4 = 0x7F000001;
  config.udp_port = 0;  // any
  ServerLoop loop(config, 1, worker::make_udp_socket(config), [](const std::string&) {});
  const auto pages = probe_pages(loop, nullptr);
  for (const char* const path : {"/healthz", "/readyz"}) {
    const control::HttpPage answer = pages.at(path)({});
    EXPECT_EQ(answer.status, 503u) << path;
    EXPECT_EQ(answer.body, "the packet loop does not answer\n") << path;
  }
  std::thread thread([&loop] { loop.run(); });
  for (const char* const path : {"/healthz", "/readyz"}) {
    const control::HttpPage answer = pages.at(path)({});
    EXPECT_EQ(answer.status, 200u) << path;
    EXPECT_EQ(answer.body, "ok\n") << path;
  }
  loop.stop();
  thread.join();
}

}  // namespace
}  // namespace tributary::psd
