// Reports of tasks' members: rows, the time-line, and files that are no reports.
#include "tools/client/control/task_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace tributary::client {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class TaskReports : public testing::Test {
 protected:
  TaskReports() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TaskReports() override { fs::remove_all(folder_); }

  static Json report(int job, int rank) {
    return Json{{"tributary_task_status", 1},
                {"job", job},
                {"rank", rank},
                {"role", "worker"},
                {"sums", 2},
                {"task", "abc"},
                {"state", "rounds"},
                {"bytes", 10},
                {"of_bytes", 10},
                {"round", 7},
                {"most_rounds", 100},
                {"norm", 0.5},
                {"criterion", "norm < 1"},
                {"retries", 0},
                {"missing", ""},
                {"updated", 1.5},
                {"line", Json::array()}};
  }
  static Json event(double at, const char* what) { return Json{{"at", at}, {"what", what}}; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] Reply read(const std::string& job = "") const {
    return read_task_reports(folder_.string(), job);
  }

  fs::path folder_ = fs::temp_directory_path() / ("task_reports." + std::to_string(getpid()));
};

TEST_F(TaskReports, C3AreRowsOfMembersInTheOrderOfTheirFiles) {
  write("3-1.json", report(3, 1).dump());
  write("3-0.json", report(3, 0).dump());
  write("3-0.prom", "tributary_task_bytes 1\n");
  write(".3-2.json.77", "half a f");
  const Reply reply = read();
  EXPECT_THAT(reply.notes, testing::IsEmpty());
  ASSERT_EQ(reply.data.size(), 2u);
  EXPECT_EQ(reply.data[0]["rank"], 0);
  EXPECT_EQ(reply.data[1]["rank"], 1);
  EXPECT_EQ(reply.data[1]["round"], 7);
  EXPECT_GT(reply.data[1]["age_s"].get<std::int64_t>(), 1'000'000'000);
}

TEST_F(TaskReports, C3TheTimeLineIsOfAllMembersOfOneJob) {
  Json first = report(3, 0);
  first["line"] = Json::array({event(1000.25, "gives the task"), event(1002, "has the result")});
  Json second = report(3, 1);
  second["line"] = Json::array({event(1001, "receives the task")});
  Json other = report(4, 0);
  other["line"] = Json::array({event(1, "of another job")});
  write("3-0.json", first.dump());
  write("3-1.json", second.dump());
  write("4-0.json", other.dump());
  const Json rows = read("3").data;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["time"], "1970-01-01T00:16:40Z");
  EXPECT_EQ(rows[0]["what"], "gives the task");
  EXPECT_EQ(rows[1]["what"], "receives the task");
  EXPECT_EQ(rows[1]["rank"], 1);
  EXPECT_EQ(rows[2]["times"], 1);
  EXPECT_TRUE(read("5").data.empty());
}

TEST_F(TaskReports, WhatIsNoReportIsLeftOutWithANote) {
  write("a.json", "no JSON");
  write("b.json", "{\"tributary_task_status\": 2}");
  Json without = report(1, 1);
  without.erase("norm");
  write("c.json", without.dump());
  Json nested = report(1, 1);
  nested["state"] = Json::array({1});
  write("d.json", nested.dump());
  Json odd = report(1, 1);
  odd["line"] = Json::array({Json{{"at", "x"}, {"what", "y"}}});
  write("e.json", odd.dump());
  write("f.json", std::string((1 << 20) + 1, ' '));
  fs::create_directory(folder_ / "g.json");
  ASSERT_EQ(mkfifo((folder_ / "h.json").c_str(), 0600), 0);
  fs::create_symlink("a.json", folder_ / "i.json");
  write("j.json", report(1, 1).dump());
  const Reply reply = read();
  EXPECT_EQ(reply.data.size(), 1u);
  EXPECT_THAT(reply.notes,
              testing::ElementsAre(AllOf(HasSubstr("a.json: "), HasSubstr("no report")),
                                   HasSubstr("no report"), HasSubstr("c.json: is damaged"),
                                   HasSubstr("damaged"), HasSubstr("damaged"),
                                   HasSubstr("more than 1 MiB"), HasSubstr("no regular file"),
                                   HasSubstr("no regular file"), HasSubstr("i.json: ")));
}

TEST_F(TaskReports, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(static_cast<void>(read_task_reports((folder_ / "none").string(), "")),
               std::runtime_error);
}

}  // namespace
}  // namespace tributary::client
