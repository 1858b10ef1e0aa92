// Tests that need no interface of their own; tests/system/test_interfaces.py has the rest.
#include "dataplane/port/kernel_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::dataplane {
namespace {

TEST(KernelInterface, ANameThatNoInterfaceCanHaveIsRefusedForThat) {
  try {
    const KernelInterface interface("sixteen-letters-");
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("longer than the 15 characters"));
  }
}

}  // namespace
}  // namespace tributary::dataplane
