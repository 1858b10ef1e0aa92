// A rank's place as a manager says it, and what is refused before and after it was asked.
#include "worker/manager/managed_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tributary::worker {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string running(const std::vector<std::string>& workers = {"a0", "a1", "b0"}) {
  Json members = Json::array();
  for (std::size_t rank = 0; rank < workers.size(); ++rank)
    members.push_back({{"rank", rank},
                       {"worker", workers[rank]},
                       {"address", "udp://10.0.0." + std::to_string(rank + 1)}});
  Json reply = {{"id", 65'537}, {"workers", workers.size()}};
  reply["members"] = members;
  Json answer = {{"ok", true}};
  answer["reply"] = reply;
  return answer.dump();
}

std::string refusal(const std::string& code, const std::string& error) {
  return Json{{"ok", false}, {"code", code}, {"error", error}}.dump();
}

// Gives its answers in turn, the last one for ever.
class FakeManager {
 public:
  explicit FakeManager(std::vector<std::string> answers) : answers_(std::move(answers)) {}

  std::optional<ManagedPlace> place(const ManagedJob& job,
                                    const std::map<std::string, std::string>& variables = {},
                                    const std::function<bool()>& cancelled = {}) {
    const ManagerAccess access{[this](const std::string& request) {
                                 asked_.push_back(Json::parse(request));
                                 return answers_[std::min(asked_.size(), answers_.size()) - 1];
                               },
                               [&](const char* name) {
                                 const auto found = variables.find(name);
                                 return found == variables.end() ? nullptr : found->second.c_str();
                               },
                               cancelled};
    return place_of(job, access, Duration::seconds(60));
  }
  template <typename Exception>
  std::string refused(const ManagedJob& job) {
    try {
      place(job);
    } catch (const Exception& error) {
      return error.what();
    }
    return "nothing";
  }
  [[nodiscard]] const std::vector<Json>& asked() const { return asked_; }

 private:
  std::vector<std::string> answers_;
  std::vector<Json> asked_;
};

const ManagedJob kTrain{.manager = "unix:/m", .name = "train", .worker = "b0"};

TEST(ManagedJob, T20_TheManagerSaysWhereARankJoins) {
  FakeManager manager({running()});
  const auto placed =
      manager.place(kTrain, {{"TRIBUTARY_TLS_CA", "ca.pem"}, {"TRIBUTARY_TLS_KEY", "own.key"}});
  ASSERT_TRUE(placed.has_value());
  EXPECT_EQ(placed->job, 65'537U);
  EXPECT_EQ(placed->rank, 2U);
  EXPECT_EQ(placed->size, 3U);
  EXPECT_EQ(placed->address, "udp://10.0.0.3");
  ASSERT_EQ(manager.asked().size(), 1U);
  const Json& asked = manager.asked()[0];
  EXPECT_EQ(asked.at("manager"), "unix:/m");
  EXPECT_EQ(asked.at("job"), "train");
  EXPECT_EQ(asked.at("ca"), "ca.pem");
  EXPECT_EQ(asked.at("cert"), "");
  EXPECT_EQ(asked.at("key"), "own.key");
  EXPECT_EQ(asked.at("request"), "");
  EXPECT_GT(asked.at("timeout_s").get<double>(), 0.5);  // in one piece
}

TEST(ManagedJob, ARankIsGivenInPlaceOfAWorker) {
  FakeManager manager({running()});
  EXPECT_EQ(manager.place({.manager = "m:1", .name = "train", .rank = 1})->address,
            "udp://10.0.0.2");
  EXPECT_THAT(manager.refused<std::invalid_argument>({.manager = "m", .name = "j", .rank = 3}),
              HasSubstr("rank is 3; allowed are 0 to 2"));
}

TEST(ManagedJob, TheHostsNameIsItsWorkers) {
  char own[256] = {};
  ASSERT_EQ(::gethostname(own, sizeof own - 1), 0);
  FakeManager manager({running({"other", own})});
  EXPECT_EQ(manager.place({.manager = "m:1", .name = "train"})->rank, 1U);
}

TEST(ManagedJob, MistakesAreNamed) {
  FakeManager manager({running()});
  EXPECT_THAT(manager.refused<std::invalid_argument>({.manager = "m:1"}),
              HasSubstr("no job is named"));
  EXPECT_THAT(manager.refused<std::invalid_argument>({.manager = "m", .name = "j", .worker = "zz"}),
              HasSubstr("worker is 'zz', and the job's are a0, a1, b0"));
  EXPECT_THAT(manager.refused<std::invalid_argument>(
                  {.manager = "m", .name = "j", .worker = "a0", .rank = 0}),
              HasSubstr("worker a0 and rank 0; allowed: one of them"));
  EXPECT_THAT(manager.refused<std::invalid_argument>(
                  {.manager = "m", .name = "j", .request = "/none.yaml"}),
              HasSubstr("request /none.yaml: cannot be read"));
}

TEST(ManagedJob, WhatTheManagerRefusesIsPassedOn) {
  EXPECT_EQ(FakeManager({refusal("INVALID_ARGUMENT", "r.yaml:2: unknown key")})
                .refused<std::invalid_argument>(kTrain),
            "manager: r.yaml:2: unknown key");
  EXPECT_EQ(FakeManager({refusal("DEADLINE_EXCEEDED", "no manager answers")})
                .refused<std::runtime_error>(kTrain),
            "manager: no manager answers");
  for (const char* odd : {"{}", R"({"ok": true, "reply": {"id": "x"}})"})
    EXPECT_THAT(FakeManager({odd}).refused<std::runtime_error>(kTrain),
                HasSubstr("its answer makes no sense"));
}

TEST(ManagedJob, ARequestIsSentWithItsName) {
  char path[] = "/tmp/managed-job-XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  ::close(file);
  std::ofstream(path) << "job: {name: train}\n";
  FakeManager manager({running()});
  ManagedJob job = kTrain;
  job.request = path;
  manager.place(job);
  ::unlink(path);
  EXPECT_EQ(manager.asked()[0].at("request"), "job: {name: train}\n");
  EXPECT_EQ(manager.asked()[0].at("file_name"), path);
}

TEST(ManagedJob, WaitsInPiecesThatCanBeCancelled) {
  const std::string late = refusal("DEADLINE_EXCEEDED", "the job does not run");
  FakeManager manager({late, late, running()});
  EXPECT_EQ(manager.place(kTrain, {}, [] { return false; })->rank, 2U);
  ASSERT_EQ(manager.asked().size(), 3U);
  EXPECT_EQ(manager.asked()[0].at("timeout_s"), 0.5);
  EXPECT_EQ(manager.asked()[1].at("timeout_s"), 1.0);
  FakeManager never({late});
  EXPECT_FALSE(never.place(kTrain, {}, [&] { return never.asked().size() == 2; }).has_value());
  EXPECT_EQ(never.asked().size(), 2U);
}

}  // namespace
}  // namespace tributary::worker
