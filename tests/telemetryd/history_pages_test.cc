#include "tools/telemetryd/history_pages.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/database/scratch.h"

namespace tributary::telemetryd {
namespace {

using control::HttpQuery;
using database::Scratch;
using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000;

struct Bed {
  // A row a second of node 1, port 2, for so long up to now; and a decision a minute.
  explicit Bed(std::int64_t seconds) {
    HistoryFile file(scratch.file());
    for (std::int64_t at = kNow - seconds + 1; at <= kNow; ++at) {
      std::vector<DecisionRow> decisions;
      if (at % 60 == 0) decisions.push_back({at * 1000, "a", "b", "at " + std::to_string(at)});
      LinkRow row;
      row.node = 1;
      row.port = 2;
      row.latency_ns = static_cast<std::uint64_t>(at - kNow + seconds);
      file.write(at * 1000, std::vector<LinkRow>{row}, decisions);
    }
  }
  json link(HttpQuery query) {
    query.emplace("node", "1");
    query.emplace("port", "2");
    return json::parse(pages().link_json(query, kNow));
  }
  std::string refusal(const HttpQuery& query) {
    try {
      pages().link_json(query, kNow);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  }
  HistoryPages pages() const { return {scratch.file(), Duration::seconds(1)}; }

  Scratch scratch;
};

TEST(HistoryPages, AnHourIn360RowsUnlessAskedForMore) {
  Bed bed(100);
  const json usual = bed.link({});
  EXPECT_EQ(usual["node"], 1);
  EXPECT_EQ(usual["port"], 2);
  EXPECT_EQ(usual["from"], kNow - 3600);
  EXPECT_EQ(usual["to"], kNow + 1);
  EXPECT_EQ(usual["step"], 11);  // 3601 s in at most 360 rows
  EXPECT_EQ(usual["rows"].back()["time"].get<std::int64_t>() % 11, (kNow - 3600) % 11);
  std::int64_t rows = 0;
  for (const json& row : usual["rows"]) rows += row["rows"].get<std::int64_t>();
  EXPECT_EQ(rows, 100);

  const json seconds = bed.link({{"from", "-10"}, {"to", "0"}, {"step", "1"}});
  ASSERT_EQ(seconds["rows"].size(), 10u);
  EXPECT_EQ(seconds["rows"][0]["time"], kNow - 10);
  EXPECT_EQ(seconds["rows"][0]["latency_ns"], 90);
  EXPECT_FALSE(seconds["rows"][0].contains("p99_ns")) << "not known";

  const json absolute =
      bed.link({{"from", std::to_string(kNow - 4)}, {"to", std::to_string(kNow - 2)}});
  EXPECT_EQ(absolute["rows"].size(), 2u);
}

TEST(HistoryPages, OtherPortsHaveNoRows) {
  Bed bed(10);
  EXPECT_TRUE(bed.link({{"port", "3"}})["rows"].empty());
}

TEST(HistoryPages, WhatMakesNoSenseIsRefusedWithWhatIsAllowed) {
  Bed bed(10);
  const HttpQuery good{{"node", "1"}, {"port", "2"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    HttpQuery query = good;
    query[name] = value;
    return bed.refusal(query);
  };
  EXPECT_EQ(bed.refusal(good), "none");
  EXPECT_THAT(bed.refusal({}), HasSubstr("node is missing"));
  EXPECT_THAT(bed.refusal({{"node", "1"}}), HasSubstr("port is missing"));
  EXPECT_THAT(with("node", "x"), HasSubstr("node='x'; allowed: 0 to 4294967295"));
  EXPECT_THAT(with("port", "65536"), HasSubstr("allowed: 0 to 65535"));
  EXPECT_THAT(with("step", "0"), HasSubstr("allowed: 1 to"));
  EXPECT_THAT(with("from", ""), HasSubstr("from=''"));
  EXPECT_THAT(with("from", "99999999999999999999"), HasSubstr("allowed:"));
  EXPECT_THAT(with("to", "-7200"), HasSubstr("'to' is not after 'from'"));
  EXPECT_THAT(with("since", "1"), HasSubstr("'since' is unknown; allowed: node port from to step"));
  HttpQuery many = good;
  many["step"] = "1";
  many["from"] = "-5001";
  EXPECT_THAT(bed.refusal(many), HasSubstr("more than 5000 rows; choose a longer step"));
}

TEST(HistoryPages, AnswersLookAtSoManyTimesAndNoMore) {
  const Scratch scratch;
  HistoryFile file(scratch.file());
  database::Sqlite(scratch.file())
      .run(
          "WITH RECURSIVE n(t) AS (SELECT 1 UNION ALL SELECT t + 1 FROM n WHERE t < 100001) "
          "INSERT INTO times SELECT " +
          std::to_string(kNow) + "000 - t FROM n");
  HistoryPages pages(scratch.file(), Duration::seconds(1));
  const HttpQuery query{{"node", "1"}, {"port", "2"}};
  EXPECT_THROW(pages.link_json(query, kNow), std::invalid_argument);
  file.forget(kNow * 1000);
  EXPECT_NO_THROW(pages.link_json(query, kNow));
}

TEST(HistoryPages, DecisionsOfATime) {
  Bed bed(600);
  const json all = json::parse(bed.pages().decisions_json({{"from", "-600"}}, kNow));
  ASSERT_EQ(all.size(), 10u);
  EXPECT_GT(all[0]["time"], all[1]["time"]);
  EXPECT_EQ(all[0]["from"], "a");
  EXPECT_THAT(all[0]["explanation"].get<std::string>(), HasSubstr("at 1"));
  EXPECT_EQ(json::parse(bed.pages().decisions_json({{"from", "-120"}, {"to", "0"}}, kNow)).size(),
            2u);
}

}  // namespace
}  // namespace tributary::telemetryd
