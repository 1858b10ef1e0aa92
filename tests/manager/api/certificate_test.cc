// Files that are no certificate are said to be none; expired ones are tests/system's.
#include "manager/api/certificate.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/manager/store/scratch.h"

namespace tributary::manager {
namespace {

TEST(Certificate, AFileThatIsNoneIsRefused) {
  const Scratch scratch;
  std::ofstream(scratch.file()) << "-----BEGIN CERTIFICATE-----\nnonsense\n";
  try {
    check_certificate(scratch.file());
    ADD_FAILURE() << "was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), scratch.file() + ": is no certificate in PEM");
  }
}

}  // namespace
}  // namespace tributary::manager
