// The measuring rules that every ratio here follows: two sides take turns within one run on one
// core, each round yields one rate a side, the figure is the median over the rounds and the
// ratio is the median of the rounds' own ratios, so that a neighbour's burst hits both sides of
// a round and not the comparison. A row says whether the data that came out was checked.
//
// Rows go to stdout, one JSON object a line with --json; progress goes to stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tributary::bench {

struct Options {
  bool quick = false;
  bool json = false;
  int cpu = -1;  // -1: the one we started on
  // Pairs of which the middle half is given, too; quick or not.
  [[nodiscard]] std::size_t pairs() const { return quick ? 11 : 31; }
  [[nodiscard]] std::size_t rounds() const { return quick ? 5 : 15; }
};
// Understands --quick, --json, --cpu N and --help; prints usage and exits on anything else.
Options parse_options(int argc, char** argv, const char* what);

// One line of the report. Without a reference, `reference` is empty and ratio 0.
struct Row {
  std::string suite;
  std::string case_name;
  std::string metric;
  double value = 0;
  std::string unit;
  std::string reference;
  double reference_value = 0;
  double ratio = 0;
  std::size_t runs = 0;
  double min = 0;
  double max = 0;
  bool verified = false;
};

// Collects rows and prints each as it comes. exit_code() is 1 when one was not verified.
class Report {
 public:
  explicit Report(const Options& options) : json_(options.json) {}
  void add(const Row& row);
  // A row without figures: what a reader would look for, and why it is not there. No failure.
  void add_not_measured(Row row, const std::string& why);
  [[nodiscard]] int exit_code() const { return failed_ ? 1 : 0; }

 private:
  void print(const Row& row, bool measured) const;

  bool json_;
  bool failed_ = false;
};

// A measured thing: run() does the work once and returns the payload bytes it moved; verify()
// runs untimed after each round and says whether what run() left behind is right; prepare()
// runs untimed before it. Empty functions are skipped.
struct Side {
  std::string name;
  std::function<void()> prepare;
  std::function<std::size_t()> run;
  std::function<bool()> verify;
};

// Alternates the sides and fills value, reference, ratio, spread, runs and verified of `row`
// (in GB/s; `reference` may be nullptr). Which side goes first alternates too. There are `times` as
// many rounds as usual: short ones tell little each, and are cold until there have been some.
void measure(const Options& options, const Side& subject, const Side* reference, Row& row,
             std::size_t times = 1);

// Time this thread ran, without what the scheduler gave to others in between.
double thread_seconds();

double median(std::vector<double> values);

// Zeroed memory on huge pages where the kernel gives them: these runs are about the caches and
// memory, not about the TLB.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_;
};

// Evicts the bytes from every cache level, so that the next read comes from memory however
// large the last-level cache is. False where the CPU offers no way.
bool flush_from_caches(std::span<const std::byte> bytes);

// Bytes of the level-2 data cache; 1 MiB when the system does not say.
std::size_t l2_bytes();

}  // namespace tributary::bench
