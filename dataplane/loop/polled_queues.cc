#include "dataplane/loop/polled_queues.h"

#include <algorithm>

#include "config/plan/lcore_plan.h"

namespace tributary::dataplane {
namespace {

const PolledQueue* find(const PolledQueues::List& queues, const PolledQueue& like) {
  const auto found = std::find_if(queues.begin(), queues.end(), [&](const PolledQueue& q) {
    return q.port == like.port && q.queue == like.queue;
  });
  return found == queues.end() ? nullptr : &*found;
}

bool is_among(std::span<const std::uint16_t> places, std::uint16_t place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

PolledQueues::List queues_of(const config::SwitchConfig& config, std::size_t lcore) {
  PolledQueues::List queues;
  for (const config::QueuePlace& place : config::queue_places(config))
    if (place.lcore == lcore) queues.push_back({place.port, place.queue, {}, {}});
  return queues;
}

}  // namespace

PolledQueues::PolledQueues(const config::SwitchConfig& config, std::size_t lcore)
    : lcore_(lcore),
      polled_(std::make_unique<List>(queues_of(config, lcore))),
      shown_(polled_.get()) {}

PolledQueues::Plan PolledQueues::plan(const config::SwitchConfig& next,
                                      std::span<const std::uint16_t> removed) const {
  Plan plan{std::make_unique<List>(queues_of(next, lcore_)), std::make_unique<List>(),
            std::make_unique<List>()};
  plan.kept->reserve(plan.polled->size());
  plan.past->reserve(past_->size() + polled_->size());
  for (const PolledQueue& queue : *past_)
    if (!is_among(removed, queue.port) && find(*polled_, queue) == nullptr)
      plan.past->push_back(queue);
  return plan;
}

void PolledQueues::release(Plan& plan, std::span<const std::uint16_t> removed) {
  for (const PolledQueue& queue : *polled_)
    if (find(*plan.polled, queue) != nullptr)
      plan.kept->push_back(queue);
    else if (!is_among(removed, queue.port))
      plan.past->push_back(queue);
  poll(plan.kept);
}

void PolledQueues::attach(Plan& plan) {
  for (PolledQueue& queue : *plan.polled)
    for (const auto* known : {polled_.get(), plan.past.get()})
      if (const PolledQueue* const before = find(*known, queue)) queue = *before;
  std::swap(past_, plan.past);
  poll(plan.polled);
}

std::vector<std::uint16_t> PolledQueues::first_ports() const {
  std::vector<std::uint16_t> ports;
  for (const PolledQueue& queue : *polled_)
    if (queue.queue == 0) ports.push_back(queue.port);
  return ports;
}

void PolledQueues::poll(std::unique_ptr<List>& queues) {
  std::swap(polled_, queues);
  shown_.store(polled_.get(), std::memory_order_release);
}

}  // namespace tributary::dataplane
