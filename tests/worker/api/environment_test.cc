// A rank's place in the environment, and mistakes there.
#include "worker/api/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tributary::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

CommunicatorOptions with(const Variables& variables, CommunicatorOptions options = {}) {
  return with_environment(std::move(options), [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refused(const Variables& variables, CommunicatorOptions options = {}) {
  try {
    with(variables, std::move(options));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing";
}

TEST(Environment, WhatIsMissingIsNamed) {
  EXPECT_THAT(refused({}), AllOf(HasSubstr("size is 0"), HasSubstr("RANK and WORLD_SIZE"),
                                 HasSubstr("SLURM_PROCID and SLURM_NTASKS")));
  EXPECT_THAT(refused({}, {.size = 1}), HasSubstr("TRIBUTARY_ADDRESS is not set"));
  EXPECT_THAT(refused({{"TRIBUTARY_ADDRESS", ""}}, {.size = 1}),
              HasSubstr("TRIBUTARY_ADDRESS is not set"));
}

TEST(Environment, Rule1_TheRunIsTheCallersOrTheEnvironments) {
  const CommunicatorOptions given{.size = 1, .address = "udp://10.0.0.1"};
  EXPECT_EQ(with({}, given).run, "");
  EXPECT_EQ(with({{"TRIBUTARY_RUN", "41"}}, given).run, "41");
  CommunicatorOptions own = given;
  own.run = "42";
  EXPECT_EQ(with({{"TRIBUTARY_RUN", "41"}}, own).run, "42");
}

TEST(Environment, A3_AddressBitsAreForSeveralSwitches) {
  const Variables bits = {{"TRIBUTARY_ADDRESS_BITS", "16,1"}};
  const CommunicatorOptions two{.size = 1, .address = "udp://10.0.0.1,10.0.1.1"};
  EXPECT_EQ(with({}, two).address_bits, AddressBits{});
  EXPECT_EQ(with({{"TRIBUTARY_ADDRESS_BITS", ""}}, two).address_bits, AddressBits{});
  EXPECT_EQ(with(bits, two).address_bits, (AddressBits{16, 1}));
  EXPECT_EQ(with(bits, {.size = 1, .address = "udp://10.0.0.1"}).address_bits, AddressBits{});
  CommunicatorOptions own = two;
  own.address_bits = {20, 2};
  EXPECT_EQ(with(bits, own).address_bits, (AddressBits{20, 2}));
  EXPECT_THAT(
      refused({{"TRIBUTARY_ADDRESS_BITS", "16"}}, two),
      AllOf(HasSubstr("TRIBUTARY_ADDRESS_BITS"), HasSubstr("'16'"), HasSubstr("LOW,COUNT")));
}

TEST(Environment, KnowsTheLaunchers) {
  for (const auto& [rank, size] :
       std::map<std::string, std::string>{{"RANK", "WORLD_SIZE"},
                                          {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                          {"PMI_RANK", "PMI_SIZE"},
                                          {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    const auto options = with({{rank, "3"}, {size, "8"}}, {.address = "a"});
    EXPECT_EQ(options.rank, 3U) << rank;
    EXPECT_EQ(options.size, 8U) << size;
  }
}

TEST(Environment, Rule23_RetriesWhereItSaysSo) {
  const CommunicatorOptions place = {.size = 1, .address = "a"};
  EXPECT_EQ(with({}, place).retry, Retry::none);
  EXPECT_EQ(with({{"TRIBUTARY_RETRY", "none"}}, place).retry, Retry::none);
  const auto ops = with({{"TRIBUTARY_RETRY", "ops"}, {"TRIBUTARY_RETRY_TIMEOUT", "2.5"}}, place);
  EXPECT_EQ(ops.retry, Retry::ops);
  EXPECT_EQ(ops.retry_timeout, Duration::ms(2500));
  CommunicatorOptions none = place;
  none.retry = Retry::none;
  EXPECT_EQ(with({{"TRIBUTARY_RETRY", "ops"}}, none).retry, Retry::none);
  EXPECT_THAT(refused({{"TRIBUTARY_RETRY", "all"}}, place),
              HasSubstr("TRIBUTARY_RETRY is 'all' in the environment; allowed: none, ops"));
  EXPECT_THAT(refused({{"TRIBUTARY_RETRY", "ops"}, {"TRIBUTARY_RETRY_TIMEOUT", "0"}}, place),
              HasSubstr("TRIBUTARY_RETRY_TIMEOUT is '0'"));
}

TEST(Environment, WhatTheCallerGivesStays) {
  const auto options = with({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"TRIBUTARY_ADDRESS", "a"}},
                            {.rank = 1, .size = 2, .address = "b"});
  EXPECT_EQ(options.rank, 1U);
  EXPECT_EQ(options.size, 2U);
  EXPECT_EQ(options.address, "b");
}

TEST(Environment, TorchrunComesBeforeItsLauncher) {
  const auto options =
      with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}},
           {.address = "a"});
  EXPECT_EQ(options.size, 2U);
}

TEST(Environment, AnAddressHasTheRankInIt) {
  const auto options =
      with({{"RANK", "3"},
            {"WORLD_SIZE", "8"},
            {"TRIBUTARY_ADDRESS", "memif:///run/{rank}?id={rank}&switch=1.2.3.4"}});
  EXPECT_EQ(options.address, "memif:///run/3?id=3&switch=1.2.3.4");
}

TEST(Environment, MistakesAreNamed) {
  EXPECT_THAT(refused({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is 'x'"));
  EXPECT_THAT(refused({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is '-1'"));
  EXPECT_THAT(refused({{"RANK", "0"}, {"WORLD_SIZE", ""}}), HasSubstr("WORLD_SIZE is ''"));
  EXPECT_THAT(refused({{"RANK", "0"}}), HasSubstr("has RANK and not WORLD_SIZE"));
  EXPECT_THAT(refused({{"PMI_SIZE", "4"}}), HasSubstr("has PMI_SIZE and not PMI_RANK"));
}

std::string running_job(const std::string& request) {
  EXPECT_THAT(request, HasSubstr("train"));
  return R"({"ok": true, "reply": {"id": 9, "workers": 2, "members": [
    {"rank": 0, "worker": "a0", "address": "udp://10.0.0.1"},
    {"rank": 1, "worker": "a1", "address": "udp://10.0.0.2"}]}})";
}

CommunicatorOptions at_manager(CommunicatorOptions options) {
  return with_manager(
      std::move(options), [](const char*) { return nullptr; }, running_job);
}

std::string refused_at_manager(CommunicatorOptions options) {
  try {
    at_manager(std::move(options));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing";
}

TEST(Environment, T20_AManagerSaysThePlace) {
  CommunicatorOptions options;
  options.managed = {.manager = "m:1", .name = "train", .worker = "a1"};
  const CommunicatorOptions placed = at_manager(options);
  EXPECT_EQ(placed.job, 9U);
  EXPECT_EQ(placed.rank, 1U);
  EXPECT_EQ(placed.size, 2U);
  EXPECT_EQ(placed.address, "udp://10.0.0.2");
  options.managed.worker = "";
  options.size = 2;  // so that the rank counts
  EXPECT_EQ(at_manager(options).address, "udp://10.0.0.1");
  options.size = 4;
  EXPECT_THAT(refused_at_manager(options), HasSubstr("size is 4, and job train has 2 ranks"));
  options.job = 7;
  EXPECT_THAT(refused_at_manager(options), HasSubstr("says job and address"));
}

TEST(Environment, WithoutAManagerThereIsNothingOfItsToSay) {
  EXPECT_EQ(at_manager({.job = 7, .address = "a"}).address, "a");
  for (const ManagedJob& job :
       {ManagedJob{.name = "train"}, ManagedJob{.request = "r.yaml"}, ManagedJob{.worker = "a0"}}) {
    CommunicatorOptions options;
    options.managed = job;
    EXPECT_THAT(refused_at_manager(options), HasSubstr("allowed: manager as well"));
  }
}

TEST(Environment, AWaitForAManagerIsCancelled) {
  CommunicatorOptions options;
  options.managed = {.manager = "m:1", .name = "train", .worker = "a1"};
  options.cancelled = [] { return true; };
  const auto late = [](const std::string&) {
    return R"({"ok": false, "code": "DEADLINE_EXCEEDED", "error": "late"})";
  };
  EXPECT_THROW(with_manager(
                   options, [](const char*) { return nullptr; }, late),
               CommunicatorError);
}

}  // namespace
}  // namespace tributary::worker
