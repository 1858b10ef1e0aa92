#include "bench/rank.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>
#include <tuple>
#include <vector>

namespace tributary::bench {
namespace {

constexpr std::uint32_t kValueMask = 1023;

float value_of(std::uint32_t rank, std::size_t i, std::uint32_t salt) {
  const auto mixed = static_cast<std::uint32_t>(i) * 31 + rank * 17 + salt * 7;
  return static_cast<float>(mixed & kValueMask);
}

void fill(std::span<float> data, std::uint32_t rank, std::uint32_t salt) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value_of(rank, i, salt);
}

bool is_sum(std::span<const float> data, std::uint32_t ranks, std::uint32_t salt) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    float sum = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += value_of(rank, i, salt);
    if (data[i] != sum) return false;
  }
  return true;
}

std::uint32_t number(const std::string& text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') throw std::invalid_argument("not a number: " + text);
  return static_cast<std::uint32_t>(value);
}

class Server {
 public:
  Server(const RankOptions& options, RankSide& side) : options_(options), side_(side) {}

  void run(const std::string& algorithm, std::size_t bytes, std::uint32_t iterations,
           std::uint32_t salt) {
    std::vector<float>& data = arrays_[bytes];
    data.resize(bytes / sizeof(float));
    auto& reduce = prepared_[std::tuple(algorithm, bytes)];
    if (!reduce) reduce = side_.prepare(algorithm, data);
    bool right = true;
    std::vector<std::int64_t> times;
    for (std::uint32_t i = 0; i < iterations; ++i) {
      fill(data, options_.rank, salt + i);
      side_.barrier();
      const auto begin = std::chrono::steady_clock::now();
      reduce();
      const auto end = std::chrono::steady_clock::now();
      side_.barrier();
      right = is_sum(data, options_.size, salt + i) && right;
      times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
    }
    std::cout << "ran " << (right ? 1 : 0);
    for (const std::int64_t time : times) std::cout << ' ' << time;
    std::cout << std::endl;
  }

 private:
  const RankOptions& options_;
  RankSide& side_;
  std::map<std::size_t, std::vector<float>> arrays_;  // stable: sides keep pointers into them
  std::map<std::tuple<std::string, std::size_t>, std::function<void()>> prepared_;
};

}  // namespace

RankOptions parse_rank_options(int argc, char** argv, std::span<const char* const> known) {
  RankOptions options;
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view name = argv[i];
    if (name.starts_with("--")) name.remove_prefix(2);
    given[std::string(name)] = argv[i + 1];
  }
  const auto take = [&](const char* name) {
    const auto found = given.find(name);
    if (found == given.end()) throw std::invalid_argument(std::string("missing --") + name);
    std::string value = found->second;
    given.erase(found);
    return value;
  };
  options.rank = number(take("rank"));
  options.size = number(take("size"));
  options.commands = take("commands");
  for (const char* name : known) options.other[name] = take(name);
  if (!given.empty()) throw std::invalid_argument("unknown argument --" + given.begin()->first);
  return options;
}

int serve(const RankOptions& options, RankSide& side) {
  std::cout << "ready" << std::endl;
  std::ifstream commands(options.commands);
  Server server(options, side);
  std::string line;
  while (std::getline(commands, line)) {
    std::istringstream words(line);
    std::string verb;
    std::string algorithm;
    std::size_t bytes = 0;
    std::uint32_t iterations = 0;
    std::uint32_t salt = 0;
    words >> verb;
    if (verb == "quit") return 0;
    if (verb != "run" || !(words >> algorithm >> bytes >> iterations >> salt)) {
      std::cerr << "not a command: " << line << std::endl;
      return 2;
    }
    server.run(algorithm, bytes, iterations, salt);
  }
  return 0;
}

}  // namespace tributary::bench
