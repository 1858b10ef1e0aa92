// A node as an orchestrator's probes see it.
#include "tools/poold/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/poold/pool_nodes.h"

namespace tributary::poold {
namespace {

using testing::HasSubstr;

TEST(NodeProbesTimed, TurnsThatGoOnAreToldFromThoseThatDoNot) {
  std::uint64_t turns = 0;
  EXPECT_TRUE(goes_on([&] { return ++turns / 3; }, Duration::seconds(60)));
  EXPECT_FALSE(goes_on([] { return 7u; }, Duration::ms(1)));
}

TEST_F(PoolNodesTimed, ANodeIsWellAndReadyUnlessItIsBeingFilled) {
  start_all();
  fill_all();
  for (const auto& server : servers_)
    for (const auto& [path, page] : probe_pages(*server)) {
      const control::HttpPage answer = page({});
      EXPECT_EQ(answer.status, 200u) << path;
      EXPECT_EQ(answer.body, "ok\n") << path;
    }
}

TEST_F(PoolNodesTimed, ANodeThatIsBeingFilledIsWellAndNotReady) {
  config_.dataset.store = "webhdfs://127.0.0.1:1/";  // refuses connections: the fill tries again
  config_.fill.backoff = {Duration::seconds(3600), Duration::seconds(3600), 1};
  start(0);
  operate(0).command(CommandKind::fill, 0, kRecords);
  const auto pages = probe_pages(*servers_[0]);
  EXPECT_EQ(pages.at("/healthz")({}).status, 200u);
  const control::HttpPage ready = pages.at("/readyz")({});
  EXPECT_EQ(ready.status, 503u);
  EXPECT_THAT(ready.body, HasSubstr("node a is being filled: it holds 0 records, of "));
}

}  // namespace
}  // namespace tributary::poold
