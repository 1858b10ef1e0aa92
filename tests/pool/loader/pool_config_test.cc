// The pool's file: what is allowed, and what is said about the rest (L3).
#include "pool/loader/pool_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pool/link/token.h"
#include "tests/documented_keys.h"

namespace tributary::pool {
namespace {

using testing::HasSubstr;

const std::string kGood = R"(pool:
  name: train
  replicas: 1
  nodes:
    - {name: a, address: "10.0.0.1:7480", memory: /dev/shm/a, megabytes: 64, numa_node: 0}
    - {name: b, address: "10.0.0.2:7480", memory: /dev/shm/b, weight: 2}
  dataset: {store: "file:///data", manifest: /m, format: fixed, record_bytes: 784, header_bytes: 16}
  eviction: {policy: oldest, high_water: 80, lease: 3s}
  prefetch: {parallel: 3, retries: 1, on_damaged: stop, stall_timeout: 4s}
  load: {amount: 64 MiB, target: "gpu:1", gpu_path: direct, pad: false, metrics_folder: /run/prom}
  tenants: [{name: vision, token_file: /v}, {name: speech, token_file: /s}]
  tenant: speech
)";

std::string problem_with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  try {
    parse_pool_config(text, "pool.yaml");
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "";
}

TEST(PoolConfig, L3ReadsEveryKeyAndWritesItAgain) {
  const PoolConfig config = parse_pool_config(kGood, "pool.yaml");
  EXPECT_EQ(config.nodes[1].weight, 2u);
  EXPECT_EQ(config.nodes[0].numa_node, 0u);
  EXPECT_EQ(config.dataset.layout.record_bytes, 784u);
  EXPECT_EQ(config.cache.eviction, Eviction::oldest);
  EXPECT_EQ(config.fill.on_damaged, OnDamaged::stop);
  EXPECT_EQ(config.timeouts.stall, Duration::seconds(4));
  EXPECT_EQ(config.load.amount, (Amount{64 << 20, true}));
  EXPECT_EQ(config.load.target, "gpu:1");
  EXPECT_EQ(config.load.gpu_path, GpuPath::direct);
  EXPECT_FALSE(config.load.pad);
  EXPECT_EQ(config.load.metrics_folder, "/run/prom");
  EXPECT_EQ(config.tenants[1].token_file, "/s");
  EXPECT_EQ(greeted_name(config), "train/speech");
  EXPECT_EQ(dump(parse_pool_config(dump(config), "again")), dump(config));
}

TEST(PoolConfig, L3KeysAreThoseOfTheDocumentation) {
  const std::string example =
      tests::expect_documented(describe_pool_schema(), "configuration/pool.md");
  EXPECT_NO_THROW((void)parse_pool_config(example, "pool.md")) << example;
}

TEST(PoolConfig, SaysWhereAndWhatIsAllowed) {
  EXPECT_THAT(problem_with("64 MiB", "0"), HasSubstr("pool.load.amount"));
  EXPECT_THAT(problem_with("gpu:1", "gpu:"), HasSubstr("host, or gpu:N"));
  EXPECT_THAT(problem_with("direct", "fast"), HasSubstr("bounce, direct, unchecked"));
  EXPECT_THAT(problem_with("file:///data", "ftp://h"), HasSubstr("allowed: file, s3, webhdfs"));
  EXPECT_THAT(problem_with("name: b", "name: a"), HasSubstr("another node's name"));
  EXPECT_THAT(problem_with("10.0.0.2", "10.0.0.1"), HasSubstr("another node's address"));
  EXPECT_THAT(problem_with("name: vision", "name: speech"), HasSubstr("another tenant's name"));
  EXPECT_THAT(problem_with("tenant: speech", "tenant: text"), HasSubstr("'text' is none of"));
  EXPECT_THAT(problem_with("record_bytes: 784, ", ""), HasSubstr("format: fixed"));
  EXPECT_THAT(problem_with("replicas: 1", "replicas: 3"), HasSubstr("pool.replicas"));
  EXPECT_THAT(problem_with("parallel", "paralel"), HasSubstr("did you mean 'parallel'"));
}

TEST(PoolConfig, Amounts) {
  EXPECT_EQ(parse_amount("12"), (Amount{12, false}));
  EXPECT_EQ(parse_amount("1 record"), (Amount{1, false}));
  EXPECT_EQ(parse_amount("3GiB"), (Amount{std::uint64_t{3} << 30, true}));
  for (const char* bad :
       {"", "0", "-1", "1 TB", "MiB", "99999999999999999999", "9999999999999 GiB"})
    EXPECT_EQ(parse_amount(bad), std::nullopt) << bad;
  for (const char* text : {"5 records", "64 MiB", "1 KiB", "1000 B"})
    EXPECT_EQ(format_amount(*parse_amount(text)), text);
}

TEST(PoolConfig, LoadKeysStandBesideTheFile) {
  EXPECT_EQ(load_file_of("/etc/p.yaml"), "/etc/p.load.yaml");
  EXPECT_EQ(load_file_of("/etc/p"), "/etc/p.load.yaml");
}

TEST(PoolConfig, ProofsDependOnTokenRoleAndNonces) {
  const Nonce a = draw_nonce();
  const Nonce b = draw_nonce();
  const TokenProof proof = prove("token", Role::node, a, b);
  EXPECT_TRUE(same(proof, prove("token", Role::node, a, b)));
  EXPECT_FALSE(same(proof, prove("other", Role::node, a, b)));
  EXPECT_FALSE(same(proof, prove("token", Role::reader, a, b)));
  EXPECT_FALSE(same(proof, prove("token", Role::node, b, a)));
}

}  // namespace
}  // namespace tributary::pool
