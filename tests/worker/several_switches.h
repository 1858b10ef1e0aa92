// A job of three ranks on several switches: threads and kernel sockets against engines on loopback.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/worker/test_switch.h"

namespace tributary::worker {

class SeveralSwitches : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRanks = 3;
  using Ints = std::vector<std::int32_t>;

  static config::SwitchConfig one(std::uint32_t job_id, std::uint32_t chunk_bytes,
                                  std::uint8_t planes = 1) {
    config::SwitchConfig config;
    config.ipv4 = 0x7F000001;
    config::JobConfig job;
    job.id = job_id;
    job.workers = kRanks;
    job.chunk_bytes = chunk_bytes;
    job.planes = planes;
    job.order = wire::Order::reproducible;
    config.jobs.push_back(job);
    return config;
  }
  void start(const std::vector<std::uint32_t>& chunk_bytes) {
    const std::uint32_t job = drawn_job_id();
    for (const std::uint32_t bytes : chunk_bytes)
      switches.push_back(std::make_unique<TestSwitch>(one(job, bytes)));
  }
  [[nodiscard]] std::string list() const {
    std::string text;
    for (const auto& s : switches) text += (text.empty() ? "" : ",") + s->address();
    return text;
  }
  // What create() throws, on all ranks together; empty: nothing.
  std::string join_all(const std::function<std::string(std::uint32_t)>& address) {
    ranks.resize(kRanks);
    std::vector<std::string> errors(kRanks);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < kRanks; ++r)
      threads.emplace_back([&, r] {
        CommunicatorOptions options = switches[0]->options(r);
        options.address = address(r);
        options.address_bits = bits(r);
        try {
          ranks[r] = Communicator::create(options);
        } catch (const std::exception& e) {
          errors[r] = e.what();
        }
      });
    for (auto& t : threads) t.join();
    std::string together;
    for (const std::string& e : errors) together += e.empty() ? "" : e + "\n";
    return together;
  }
  void join_all() {
    ASSERT_EQ(join_all([this](std::uint32_t) { return list(); }), "");
  }
  void all(const std::function<Request(Communicator&, std::uint32_t)>& call) {
    std::vector<Request> requests;
    for (std::uint32_t r = 0; r < kRanks; ++r) requests.push_back(call(*ranks[r], r));
    for (auto& q : requests) q.wait();
  }
  static Ints numbers(std::size_t count, std::int32_t rank) {
    Ints v(count);
    for (std::size_t i = 0; i < count; ++i)
      v[i] = static_cast<std::int32_t>(i * 7 + 1) * (rank + 1);
    return v;
  }

  std::function<AddressBits(std::uint32_t)> bits = [](std::uint32_t) { return AddressBits{}; };
  std::vector<std::unique_ptr<TestSwitch>> switches;
  std::vector<std::unique_ptr<Communicator>> ranks;  // gone before the switches
};

}  // namespace tributary::worker
