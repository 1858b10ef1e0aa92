// Threads, a meeting point at the end, and one text for all failures.
#include "tools/client/collective/ranks.h"

#include <barrier>
#include <cstdio>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "tools/client/collective/interrupt.h"
#include "tools/client/collective/next_step.h"

namespace tributary::client {
namespace {

std::string with_rank(std::string address, std::uint32_t rank) {
  constexpr std::string_view kPlaceholder = "{rank}";
  for (std::size_t at = 0; (at = address.find(kPlaceholder, at)) != std::string::npos;)
    address.replace(at, kPlaceholder.size(), std::to_string(rank));
  return address;
}

// A line for each failure, "rank 2: ..."; ranks that say the same share it.
std::string failure_text(const std::vector<std::uint32_t>& ranks,
                         const std::vector<std::string>& failures) {
  std::map<std::string, std::string> ranks_by_failure;
  std::vector<const std::string*> order;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (failures[i].empty()) continue;
    std::string& who = ranks_by_failure[failures[i]];
    if (who.empty()) order.push_back(&failures[i]);
    who += (who.empty() ? "" : ", ") + std::to_string(ranks[i]);
  }
  std::string text;
  for (const std::string* failure : order) {
    if (!text.empty()) text += '\n';
    const std::string& who = ranks_by_failure[*failure];
    text += who.find(',') == std::string::npos ? "rank " : "ranks ";
    text += who;
    text += ": ";
    text += *failure;
  }
  return text;
}

}  // namespace

std::vector<std::uint32_t> JobOptions::ranks() const {
  if (rank) return {*rank};
  std::vector<std::uint32_t> all(size);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

CommunicatorOptions JobOptions::communicator(std::uint32_t of_rank) const {
  CommunicatorOptions options;
  options.job = job;
  options.rank = of_rank;
  options.size = size;
  options.address = with_rank(address, of_rank);
  options.join_timeout = Duration::ns(static_cast<std::int64_t>(timeout_seconds * 1e9));
  options.op_timeout = options.join_timeout;
  options.loss_group = loss_group;
  options.at_host = at_host;
  options.stages = stages;
  options.cancelled = Interrupt::caught;
  return options;
}

void run_ranks(const JobOptions& job, const std::function<void(Communicator&)>& body,
               const CommunicatorFactory& create) {
  const std::vector<std::uint32_t> ranks = job.ranks();
  std::vector<std::string> failures(ranks.size());
  std::barrier all_done(static_cast<std::ptrdiff_t>(ranks.size()));
  const auto run_one = [&](std::size_t i) {
    try {
      const auto communicator = create(job.communicator(ranks[i]));
      body(*communicator);
      const std::string warning = multicast_warning(ranks[i], communicator->stats());
      if (!warning.empty()) std::fprintf(stderr, "%s\n", warning.c_str());
      all_done.arrive_and_wait();
    } catch (const CommunicatorError& error) {
      failures[i] = with_next_step(error);
      all_done.arrive_and_drop();
    } catch (const std::exception& error) {
      failures[i] = error.what();
      if (failures[i].empty()) failures[i] = "failed";
      all_done.arrive_and_drop();
    }
  };
  {
    const Interrupt interrupt;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      try {
        threads.emplace_back(run_one, i);
      } catch (const std::system_error& error) {
        failures[i] = std::string("cannot start a thread: ") + error.what();
        all_done.arrive_and_drop();
      }
    }
  }
  Interrupt::pass_on();
  const std::string text = failure_text(ranks, failures);
  if (!text.empty()) throw std::runtime_error(text);
}

}  // namespace tributary::client
