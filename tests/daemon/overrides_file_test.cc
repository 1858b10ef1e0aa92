// What a switch keeps of `tributary set` for its next start.
#include "tools/daemon/overrides_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/testbed/scratch.h"
#include "tools/program/output_file.h"

namespace tributary::tools {
namespace {

using testing::HasSubstr;

class OverridesFileTest : public testing::Test {
 protected:
  testbed::Scratch scratch;
  const std::string path = scratch.file("s.overrides");
  const OverridesFile file{path};
};

TEST_F(OverridesFileTest, NothingIsKeptAtFirst) {
  const auto kept = file.load(true);
  EXPECT_TRUE(kept.overrides.empty());
  EXPECT_EQ(kept.damage, "");
}

TEST_F(OverridesFileTest, WhatIsKeptComesBack) {
  const std::string text = "- {path: jobs.7, element: {id: 7, workers: 2}}\n";
  file.keep(text);
  EXPECT_EQ(config::dump(file.load(true).overrides), text);
}

TEST_F(OverridesFileTest, ADamagedFileIsPutAside) {
  write_file(path, "- {path: jobs.7\n");
  EXPECT_THAT(file.load(false).damage, HasSubstr("the switch starts without overrides"));
  EXPECT_TRUE(std::filesystem::exists(path)) << "only looked at";
  EXPECT_THAT(file.load(true).damage, HasSubstr("kept as " + path + ".damaged"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(file.load(true).damage, "");
}

TEST_F(OverridesFileTest, WhatIsNoFileIsTold) {
  std::filesystem::create_directory(path);
  EXPECT_NE(file.load(true).damage, "");
  EXPECT_THROW(file.keep("x"), std::exception);
}

}  // namespace
}  // namespace tributary::tools
