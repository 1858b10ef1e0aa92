// Which jobs may be resized while they run (rule 24).
#include "config/check/check_resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load/load.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string file(const std::string& more) {
  return "switch: {address: 10.77.0.254, completion: {hosts: [{name: ps, address: 10.77.0.9}]}}\n"
         "ports:\n"
         "  - {name: w0, devargs: net_null0}\n"
         "jobs:\n"
         "  - {id: 1, workers: 4" +
         more + "}\n";
}

TEST(CheckResize, Rule24_IsOffUnlessAskedFor) {
  EXPECT_FALSE(resizes(parse_switch_config(file(""), "f.yaml").jobs[0]));
  const SwitchConfig config = parse_switch_config(file(", min_workers: 2"), "f.yaml");
  EXPECT_TRUE(resizes(config.jobs[0]));
  EXPECT_EQ(parse_switch_config(dump(config), "dump").jobs[0], config.jobs[0]);
}

TEST(CheckResize, Rule24_IsRefusedWhereItCannotWork) {
  const std::string at = ": jobs[0].min_workers: ";
  const auto errors = [](const std::string& more) { return errors_of(file(more)); };
  EXPECT_THAT(errors(", min_workers: 4"), IsEmpty());
  EXPECT_THAT(errors(", min_workers: 5"),
              ElementsAre(HasSubstr(at + "5 is more than workers, 4; allowed: at most that")));
  EXPECT_THAT(errors(", min_workers: 1, order: reproducible"),
              ElementsAre(HasSubstr(at + "a declared order names each rank")));
  EXPECT_THAT(errors(", min_workers: 1, trigger: collect"),
              ElementsAre(HasSubstr(at + "with trigger: collect each rank has a place")));
  EXPECT_THAT(errors(", min_workers: 1, reductions: [float32 sum, int64 sum]"),
              ElementsAre(HasSubstr(at + "ranks vote on their number by int64 max; allowed: no "
                                         "reductions, or int64 max among them")));
  EXPECT_THAT(errors(", min_workers: 1, reductions: [float32 sum, int64 max]"), IsEmpty());
  EXPECT_THAT(errors(", min_workers: 1, completion_hosts: [ps]"),
              ElementsAre(HasSubstr(at + "a completion host elsewhere")));
  EXPECT_THAT(errors(", min_workers: 1, completion_hosts: [root]"), IsEmpty());
  EXPECT_THAT(errors(", min_workers: 1, stragglers: {exclude: largest}"),
              ElementsAre(HasSubstr(at + "late ranks are told apart")));
}

}  // namespace
}  // namespace tributary::config
