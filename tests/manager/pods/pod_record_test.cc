#include "manager/pods/pod_record.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "manager/pods/manifest.h"
#include "tests/manager/pods/pod_text.h"

namespace tributary::manager {
namespace {

TEST(PodRecord, IsStoredAndComesBack) {
  PodRecord record;
  record.pod = parse_manifest(kPodText, "m").pods[0];
  record.sequence = 7;
  record.attempt = 2;
  record.phase = PodPhase::running;
  record.node = "x";
  record.devices = {"n0", "n1"};
  record.deleting = true;
  record.reason = "Running";
  record.seat = {"train", 5, 1, 4, 1, 2, "w1", "memif:///run/p1/memif?id=0&switch=10.0.0.1", true};
  const std::string value = store_value(record);
  const PodRecord again = load_pod_record(value, "pods/train-0");
  EXPECT_EQ(store_value(again), value);
  EXPECT_EQ(again.instance(), "7.2");
  EXPECT_EQ(again.ask.devices.at("example.com/npu"), 2u);
  EXPECT_EQ(again.seat, record.seat);
  EXPECT_TRUE(again.holds());
}

TEST(PodRecord, ADamagedEntryIsNamed) {
  for (const char* value : {"", "{}", "[]", R"({"sequence": "x"})"}) {
    try {
      static_cast<void>(load_pod_record(value, "pods/a"));
      ADD_FAILURE() << value;
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("store entry pods/a: ")) << error.what();
    }
  }
}

}  // namespace
}  // namespace tributary::manager
