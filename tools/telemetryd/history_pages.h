// The history over HTTP, as JSON: /history of one egress port, /history/decisions of paths.
//
// Times in a query are seconds since 1970; 0 and less: seconds before now.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "control/http/http_server.h"
#include "core/time.h"
#include "tools/telemetryd/history_file.h"

namespace tributary::telemetryd {

class HistoryPages {
 public:
  static constexpr std::int64_t kUsualRows = 360;
  static constexpr std::int64_t kMostRows = 5000;
  static constexpr std::int64_t kMostTimes = 100'000;  // that one answer looks at
  static constexpr std::int64_t kMostDecisions = 1000;

  // `every`: time between the file's rows.
  HistoryPages(const std::string& file, Duration every) : reader_(file), every_(every) {}

  // ?node=&port=[&from=][&to=][&step=]; an hour unless given. Throws std::invalid_argument.
  std::string link_json(const control::HttpQuery& query, std::int64_t now_s);
  // ?[from=][&to=]
  std::string decisions_json(const control::HttpQuery& query, std::int64_t now_s);

 private:
  HistoryReader reader_;
  Duration every_;
};

// `unix_s`: the clock.
void add_history_pages(control::HttpServer::Pages& pages, std::shared_ptr<HistoryPages> history,
                       std::function<std::int64_t()> unix_s);

}  // namespace tributary::telemetryd
