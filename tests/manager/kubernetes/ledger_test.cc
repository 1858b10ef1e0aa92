// Versions of objects, and what changed since one of them (C2).
#include "manager/kubernetes/ledger.h"

#include <gtest/gtest.h>

namespace tributary::manager::kubernetes {
namespace {

constexpr std::uint64_t kFirst = 1000;

std::map<std::string, Json> named(const std::map<std::string, std::string>& phases) {
  std::map<std::string, Json> objects;
  for (const auto& [name, phase] : phases)
    objects[name] = {{"metadata", {{"name", name}}}, {"status", {{"phase", phase}}}};
  return objects;
}

std::string version_of(const Object& object) {
  return (*object)["metadata"]["resourceVersion"];
}

TEST(KubernetesLedger, C2_OnlyWhatDiffersGetsANewVersion) {
  Ledger ledger(kFirst);
  ledger.update(Resource::pods, named({{"a", "Pending"}, {"b", "Pending"}}));
  EXPECT_EQ(ledger.version(), kFirst + 2);
  ledger.update(Resource::pods, named({{"a", "Pending"}, {"b", "Running"}}));
  EXPECT_EQ(ledger.version(), kFirst + 3);
  EXPECT_EQ(version_of(ledger.objects(Resource::pods).at("a")), "1001");
  EXPECT_EQ(version_of(ledger.objects(Resource::pods).at("b")), "1003");
}

TEST(KubernetesLedger, C2_ChangesSinceAVersionAreKnown) {
  Ledger ledger(kFirst);
  ledger.update(Resource::pods, named({{"a", "Pending"}}));
  const std::uint64_t seen = ledger.version();
  ledger.update(Resource::nodes, named({{"n0", "x"}}));
  ledger.update(Resource::pods, named({{"a", "Running"}}));
  ledger.update(Resource::pods, {});
  const auto changes = ledger.since(Resource::pods, seen);
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2u);  // the node is another resource
  EXPECT_EQ((*(*changes)[0].before)["status"]["phase"], "Pending");
  EXPECT_EQ((*(*changes)[0].after)["status"]["phase"], "Running");
  EXPECT_EQ((*changes)[1].after, nullptr);
  EXPECT_EQ(version_of((*changes)[1].before), std::to_string(ledger.version()));
  EXPECT_TRUE(ledger.since(Resource::pods, ledger.version())->empty());
}

TEST(KubernetesLedger, ManyChangesOfOneResourceLeaveThoseOfOthersKnown) {
  Ledger ledger(kFirst);
  ledger.update(Resource::pods, named({{"a", "Pending"}}));
  const std::uint64_t seen = ledger.version();
  for (std::size_t i = 0; i <= Ledger::kKept; ++i)
    ledger.update(Resource::events, named({{"e", std::to_string(i)}}));
  ledger.update(Resource::pods, named({{"a", "Running"}}));
  EXPECT_EQ(ledger.since(Resource::pods, seen)->size(), 1u);
}

TEST(KubernetesLedger, AForeignOrForgottenVersionIsNotAnswered) {
  Ledger ledger(kFirst);
  EXPECT_FALSE(ledger.since(Resource::pods, kFirst - 1));  // of an earlier manager
  EXPECT_FALSE(ledger.since(Resource::pods, kFirst + 1));
  for (std::size_t i = 0; i <= Ledger::kKept; ++i)
    ledger.update(Resource::pods, named({{"a", std::to_string(i)}}));
  EXPECT_FALSE(ledger.since(Resource::pods, kFirst));
  EXPECT_EQ(ledger.since(Resource::pods, kFirst + 1)->size(), Ledger::kKept);
}

}  // namespace
}  // namespace tributary::manager::kubernetes
