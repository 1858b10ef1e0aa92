#include "manager/admission/tenants.h"

#include <gtest/gtest.h>

namespace tributary::manager {
namespace {

Tenants two() {
  return Tenants({{.name = "a", .weight = 1, .quota = {.jobs = 2, .workers = 10}},
                  {.name = "b", .weight = 4, .quota = {}}});
}

Usage usage(std::uint64_t jobs, std::uint64_t workers, std::uint64_t slots, std::uint64_t bytes) {
  return {jobs, workers, {slots, bytes, 0, jobs}};
}

TEST(Tenants, AQuotaIsKeptWithFigures) {
  EXPECT_EQ(two().excess("a", usage(1, 5, 0, 0), usage(1, 5, 0, 0)), "");
  EXPECT_EQ(two().excess("a", usage(2, 5, 0, 0), usage(1, 6, 0, 0)),
            "needs 1 jobs of tenant a's quota of 2, of which 2 are in use; needs 6 workers of "
            "tenant a's quota of 10, of which 5 are in use");
  EXPECT_EQ(two().excess("b", usage(90, 90, 90, 90), usage(9, 9, 9, 9)), "");
  EXPECT_EQ(two().excess("c", {}, {}), "there is no tenant c; allowed: a, b");
}

TEST(Tenants, TheShareIsTheLargerOneOverTheWeight) {
  const Amount all = {100, 1000, 0, 0};
  EXPECT_DOUBLE_EQ(two().share("a", usage(1, 1, 50, 100), all), 0.5);
  EXPECT_DOUBLE_EQ(two().share("b", usage(1, 1, 50, 800), all), 0.2);
}

}  // namespace
}  // namespace tributary::manager
