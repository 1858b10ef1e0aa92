#include "tools/agentd/pods/declared_devices.h"

#include <gmock/gmock.h>

#include "config/text/error.h"
#include "tests/documented_keys.h"

namespace tributary::agentd {
namespace {

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_declared_devices(text, "devices.yaml"));
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "none";
}

TEST(DeclaredDevices, C2_AreReadWithTheirFigures) {
  const auto devices = parse_declared_devices(
      "devices:\n"
      "  - {name: npu0, kind: example.com/npu, memory: 16Gi, free: 12Gi, load: 0.25, "
      "paths: [/dev/null], env: [MODE=fast]}\n"
      "  - {name: npu1, kind: example.com/npu, memory: 16Gi}\n",
      "f");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].device.free_bytes, 12ull << 30);
  EXPECT_EQ(devices[0].device.load, 0.25);
  EXPECT_EQ(devices[0].paths, std::vector<std::string>{"/dev/null"});
  EXPECT_EQ(devices[1].device.free_bytes, 16ull << 30);
  EXPECT_TRUE(parse_declared_devices("devices: []\n", "f").empty());
}

TEST(DeclaredDevices, KeysAreThoseOfTheDocumentation) {
  const std::string example =
      tests::expect_documented(describe_devices_schema(), "configuration/devices.md");
  EXPECT_EQ(error_of(example), "none") << example;
}

TEST(DeclaredDevices, MistakesHaveLineAndPath) {
  EXPECT_THAT(error_of("devices:\n  - {name: npu0, kind: npu}\n"),
              testing::HasSubstr("devices.yaml:2:24: devices[0].kind: 'npu' is not that; allowed: "
                                 "vendor/kind"));
  EXPECT_THAT(error_of("devices:\n  - {name: a, kind: b/c, memory: 1, free: 2}\n"),
              testing::HasSubstr("devices[0].free: is more than"));
  EXPECT_THAT(error_of("devices:\n  - {name: a, kind: b/c}\n  - {name: a, kind: b/c}\n"),
              testing::HasSubstr("devices[1].name: 'a' is there twice"));
  EXPECT_THAT(error_of("devices:\n  - {name: a, kind: b/c, load: 2}\n"),
              testing::HasSubstr("devices[0].load"));
  EXPECT_THAT(error_of("devices:\n  - {name: a, kind: b/c, paths: [dev]}\n"),
              testing::HasSubstr("devices[0].paths[0]"));
}

}  // namespace
}  // namespace tributary::agentd
