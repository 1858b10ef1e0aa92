#include "tools/agentd/pods/cdi.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/manager/store/scratch.h"

namespace tributary::agentd {
namespace {

LocalDevice device(const std::string& name, const std::string& kind) {
  LocalDevice local;
  local.device.name = name;
  local.device.kind = kind;
  local.paths = {"/dev/null"};
  return local;
}

TEST(Cdi, C2_OneFileForEachKind) {
  const auto files = cdi_files("x", {device("npu-0", "a.b/npu"), device("g", "a.b/gpu")});
  ASSERT_EQ(files.size(), 2u);
  const auto npu = nlohmann::json::parse(files.at("tributary-x_a.b_npu.json"));
  EXPECT_EQ(npu["kind"], "a.b/npu");
  EXPECT_EQ(npu["devices"][0]["name"], "x.npu-0");
  const auto& edits = npu["devices"][0]["containerEdits"];
  EXPECT_EQ(edits["deviceNodes"][0]["path"], "/dev/null");
  EXPECT_EQ(edits["env"][0], "TRIBUTARY_DEVICE_NPU_0=a.b/npu");
}

TEST(Cdi, FilesOfVanishedKindsGoAndThoseOfOthersStay) {
  const manager::Scratch scratch;
  const std::string folder = scratch.file() + ".cdi";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/tributary-x_old_kind.json") << "{}";
  std::ofstream(folder + "/nvidia.yaml") << "{}";
  CdiFolder cdi(folder, "x");
  cdi.update({device("n", "a.b/npu")});
  EXPECT_FALSE(std::filesystem::exists(folder + "/tributary-x_old_kind.json"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/tributary-x_a.b_npu.json"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/nvidia.yaml"));
  cdi.update({});
  EXPECT_FALSE(std::filesystem::exists(folder + "/tributary-x_a.b_npu.json"));
}

}  // namespace
}  // namespace tributary::agentd
