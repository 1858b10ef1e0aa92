#include "core/isa.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

TEST(Isa, NamedSetIsChosenWhereAvailable) {
  EXPECT_EQ(choose_isa("portable"), Isa::portable);
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) {
      EXPECT_EQ(choose_isa(name_of(isa)), isa);
    } else {
      EXPECT_EQ(choose_isa(name_of(isa)), choose_isa(""));
    }
  }
}

TEST(Isa, UnknownNameLeavesTheBest) {
  EXPECT_EQ(choose_isa("avx1024"), choose_isa(""));
  EXPECT_TRUE(isa_available(choose_isa("")));
  EXPECT_TRUE(isa_available(best_isa()));
}

}  // namespace
}  // namespace tributary
