// Trying again, and stopping.
#include "pool/store/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/pool/store/fake_store.h"

namespace tributary::pool {
namespace {

struct Reading {
  Reading() { shared->objects = {{"a", "0123456789"}}; }
  RecordReader reader(std::uint32_t retries, Duration wait = Duration::us(10)) {
    return {
        std::make_unique<FakeStore>(shared), manifest, {wait, wait, retries}, stop, counters, 1};
  }
  std::shared_ptr<FakeStore::Shared> shared = std::make_shared<FakeStore::Shared>();
  std::vector<std::byte> bytes = write_manifest(Format::fixed, 5, 0, {{"a", 10, 1, 0, 2}}, {});
  Manifest manifest{bytes};
  StopFlag stop;
  ReaderCounters counters;
  std::vector<std::byte> out = std::vector<std::byte>(5);
};

TEST(PoolRecordReaderTimed, PassingFaultsAreTriedAgain) {
  Reading reading;
  reading.shared->before = [](const std::string&, int number) {
    if (number == 1) throw StoreError(StoreFault::unavailable, "HTTP 500");
    if (number == 2) throw StoreError(StoreFault::incomplete, "half");
    if (number == 3) throw StoreError(StoreFault::timeout, "hangs");
  };
  auto reader = reading.reader(3);
  reader.read_record(1, reading.out);
  EXPECT_EQ(static_cast<char>(reading.out[0]), '5');
  EXPECT_EQ(reading.counters.retries, 3u);
  EXPECT_EQ(reading.counters.bytes, 5u);
  EXPECT_EQ(reading.counters.failures, 0u);
}

TEST(PoolRecordReaderTimed, AfterTheLastTryItSaysHowMany) {
  Reading reading;
  reading.shared->before = [](const std::string&, int) {
    throw StoreError(StoreFault::unavailable, "HTTP 500");
  };
  auto reader = reading.reader(2);
  try {
    reader.read_record(0, reading.out);
    FAIL();
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("HTTP 500 (after 3 tries)"));
  }
  EXPECT_EQ(reading.shared->reads, 3);
}

TEST(PoolRecordReaderTimed, LastingFaultsAreNot) {
  for (const StoreFault fault :
       {StoreFault::not_found, StoreFault::denied, StoreFault::changed, StoreFault::refused}) {
    Reading reading;
    reading.shared->before = [&](const std::string&, int) {
      throw StoreError(fault, name_of(fault));
    };
    auto reader = reading.reader(5);
    EXPECT_THROW(reader.read_record(0, reading.out), StoreError);
    EXPECT_EQ(reading.shared->reads, 1) << name_of(fault);
  }
}

TEST(PoolRecordReaderTimed, StopEndsAWaitOfHours) {
  Reading reading;
  std::atomic<bool> failed{false};
  reading.shared->before = [&](const std::string&, int) {
    failed = true;
    failed.notify_one();
    throw StoreError(StoreFault::unavailable, "HTTP 500");
  };
  auto reader = reading.reader(5, Duration::seconds(7200));
  std::thread stopper([&] {
    failed.wait(false);
    reading.stop.set();
  });
  EXPECT_THROW(reader.read_record(0, reading.out), StoreError);
  stopper.join();
}

}  // namespace
}  // namespace tributary::pool
