#include "worker/task/records.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

using nlohmann::json;

constexpr std::size_t kRecordBytes = 2048;
constexpr std::size_t kRunDigits = 12;
constexpr std::size_t kMostReason = 280;  // bytes, of which JSON may write six for each

std::vector<std::string> gather(Communicator& comm, const std::string& own) {
  if (own.size() > kRecordBytes) throw TaskError("a record of more than 2048 bytes");
  std::vector<char> record(kRecordBytes);
  std::copy(own.begin(), own.end(), record.begin());
  std::vector<char> all(kRecordBytes * comm.size());
  comm.all_gather(record.data(), all.data(), kRecordBytes, wire::DType::uint8).wait();
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) {
    const char* const text = all.data() + rank * kRecordBytes;
    texts.emplace_back(text, strnlen(text, kRecordBytes));
  }
  return texts;
}

// Throws json::exception for what is no such record.
void read(const json& record, Hello& hello) {
  record.at("role").get_to(hello.role);
  record.at("stage").get_to(hello.stage);
  record.at("task").get_to(hello.task);
  hello.begun = record.at("begun").get<std::uint64_t>();
  hello.completed = record.at("completed").get<std::uint64_t>();
  record.at("result").get_to(hello.result);
  record.at("each").get_to(hello.each);
  record.at("failed").get_to(hello.failed);
  record.at("run").get_to(hello.run);
}

void read(const json& record, Answer& answer) {
  record.at("refuse").get_to(answer.refuse);
  answer.held = record.at("held").get<std::uint64_t>();
  record.at("good").get_to(answer.good);
}

template <typename Record>
std::vector<Record> exchange_as(Communicator& comm, const json& own) {
  std::vector<Record> records;
  // A reason may quote what is no UTF-8, or be cut within a character.
  for (const std::string& text :
       gather(comm, own.dump(-1, ' ', false, json::error_handler_t::replace))) {
    try {
      read(json::parse(text), records.emplace_back());
    } catch (const json::exception&) {
      throw TaskError("rank " + std::to_string(records.size() - 1) +
                      " is no member of a task of this version");
    }
  }
  return records;
}

// It goes into names.
bool is_run(const std::string& run) {
  return run.empty() || (run.size() == kRunDigits &&
                         run.find_first_not_of("0123456789abcdef") == std::string::npos);
}

}  // namespace

std::vector<Hello> exchange(Communicator& comm, const Hello& own) {
  auto hellos = exchange_as<Hello>(comm, {{"role", own.role},
                                          {"stage", own.stage},
                                          {"task", own.task},
                                          {"begun", own.begun},
                                          {"completed", own.completed},
                                          {"result", own.result},
                                          {"each", own.each},
                                          {"failed", own.failed.substr(0, kMostReason)},
                                          {"run", own.run}});
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank)
    if (!is_run(hellos[rank].run))
      throw TaskError("rank " + std::to_string(rank) +
                      " is no member of a task of this version: run '" + hellos[rank].run + "'");
  return hellos;
}

std::vector<Answer> exchange(Communicator& comm, const Answer& own) {
  return exchange_as<Answer>(
      comm,
      {{"refuse", own.refuse.substr(0, kMostReason)}, {"held", own.held}, {"good", own.good}});
}

std::uint32_t find_main(std::span<const Hello> hellos) {
  std::vector<std::uint32_t> mains;
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank)
    if (hellos[rank].role == "main") mains.push_back(rank);
  if (mains.size() == 1) return mains.front();
  if (mains.empty()) throw TaskError("no rank of the task job is main");
  throw TaskError(text_of(mains) + " of the task job all say that they are main; allowed: one");
}

std::string new_run() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string run;
  while (run.size() < kRunDigits) run += kDigits[random() % 16];
  return run;
}

std::string run_of(std::span<const Hello> hellos) {
  const Hello* found = nullptr;
  for (const Hello& one : hellos)
    if (one.role == "worker" && (found == nullptr || (found->task.empty() && !one.task.empty())))
      found = &one;
  return found == nullptr ? "" : found->run;
}

std::string failure_in(std::span<const Hello> hellos, const std::string& job) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> said;  // a text, and its ranks
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank) {
    const std::string& why = hellos[rank].failed;
    if (why.empty()) continue;
    const auto same =
        std::find_if(said.begin(), said.end(), [&](const auto& one) { return one.first == why; });
    (same == said.end() ? said.emplace_back(why, std::vector<std::uint32_t>{}) : *same)
        .second.push_back(rank);
  }
  std::string text;
  for (const auto& [why, ranks] : said)
    text += (text.empty() ? "" : "; ") + text_of(ranks) + job + " ended: " + why;
  return text;
}

std::vector<std::uint32_t> senders_of(std::span<const Hello> hellos, std::uint32_t main) {
  std::vector<std::uint32_t> workers;
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank)
    if (rank != main) workers.push_back(rank);
  const std::uint32_t first = workers.at(0);
  if (hellos[first].each) return workers;
  for (const std::uint32_t rank : workers)
    if (hellos[rank].result != hellos[first].result)
      throw TaskError("the workers deliver different results: " + short_name(hellos[first].result) +
                      " at rank " + std::to_string(first) + " and " +
                      short_name(hellos[rank].result) + " at rank " + std::to_string(rank));
  return {first};
}

std::string text_of(std::span<const std::uint32_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace tributary::task
