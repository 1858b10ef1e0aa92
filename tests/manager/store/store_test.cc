#include "manager/store/store.h"

#include <gmock/gmock.h>

#include "tests/manager/store/scratch.h"

namespace tributary::manager {
namespace {

TEST(Store, APrefixHasOneWriter) {
  const Scratch scratch;
  const auto store = open_store("sqlite:" + scratch.file());
  {
    Writer jobs(*store, {"jobs/"});
    EXPECT_THROW(Writer(*store, {"jobs/1/"}), std::logic_error);
    EXPECT_THROW(Writer(*store, {"jo"}), std::logic_error);
    Writer nodes(*store, {"nodes/"});
    const std::vector<Write> writes = {{"jobs/x", "1", 0}};
    EXPECT_THROW(nodes.commit(writes), std::logic_error);
    EXPECT_EQ(jobs.commit(writes).size(), 1u);
  }
  Writer again(*store, {"jobs/"});
}

TEST(Store, ACommitIsAsSmallAsEveryStoreTakes) {
  const Scratch scratch;
  const auto store = open_store("sqlite:" + scratch.file());
  Writer writer(*store, {""});
  std::vector<Write> many;
  for (std::size_t i = 0; i < Store::kMostWrites; ++i) many.push_back({std::to_string(i), "v", 0});
  EXPECT_EQ(writer.commit(many).size(), Store::kMostWrites);
  many.push_back({"one more", "v", 0});
  EXPECT_THROW(writer.commit(many), std::logic_error);
  const std::vector<Write> large = {{"k", std::string(Store::kMostBytes, 'x'), 0}};
  EXPECT_THROW(writer.commit(large), std::logic_error);
}

TEST(Store, C2_TwoWritersCommitAtOnceOrNotAtAll) {
  const Scratch scratch;
  const auto store = open_store("sqlite:" + scratch.file());
  Writer jobs(*store, {"jobs/"});
  Writer pods(*store, {"pods/"});
  const std::vector<Write> job = {{"jobs/a", "1", 0}};
  const std::vector<Write> pod = {{"pods/a", "1", 0}};
  const std::vector<Write> stale = {{"pods/b", "1", 7}};
  EXPECT_THROW(jobs.commit_with(job, pods, stale), StoreError);
  EXPECT_TRUE(store->list("").empty());
  EXPECT_THROW(jobs.commit_with(pod, pods, job), std::logic_error);
  const auto revisions = jobs.commit_with(job, pods, pod);
  ASSERT_EQ(revisions.size(), 2u);
  EXPECT_EQ(store->get("pods/a")->revision, revisions[1]);
}

TEST(Store, AnAddressNamesItsKind) {
  EXPECT_THROW(open_store("file.db"), std::invalid_argument);
  EXPECT_THROW(open_store("sqlite:"), std::invalid_argument);
  EXPECT_THROW(open_store("sqlite:/no/such/folder/file.db"), StoreError);
}

}  // namespace
}  // namespace tributary::manager
