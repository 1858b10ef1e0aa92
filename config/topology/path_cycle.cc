#include "config/topology/path_cycle.h"

#include <algorithm>
#include <map>

namespace tributary::config {
namespace {

using Ways = std::map<std::size_t, std::vector<std::size_t>>;  // node → next nodes
enum class Colour : std::uint8_t { fresh, on_the_way, done };

struct Visit {
  std::size_t node = 0;
  std::size_t taken = 0;  // of its next nodes
};

std::optional<std::vector<std::size_t>> cycle_from(const Ways& ways, std::size_t start,
                                                   std::map<std::size_t, Colour>& colours) {
  std::vector<Visit> stack{{start, 0}};
  colours[start] = Colour::on_the_way;
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const auto found = ways.find(visit.node);
    if (found == ways.end() || visit.taken == found->second.size()) {
      colours[visit.node] = Colour::done;
      stack.pop_back();
      continue;
    }
    const std::size_t next = found->second[visit.taken++];
    if (colours[next] == Colour::on_the_way) {
      std::vector<std::size_t> cycle;
      auto at = std::find_if(stack.begin(), stack.end(),
                             [next](const Visit& s) { return s.node == next; });
      for (; at != stack.end(); ++at) cycle.push_back(at->node);
      return cycle;
    }
    if (colours[next] != Colour::fresh) continue;
    colours[next] = Colour::on_the_way;
    stack.push_back({next, 0});
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::size_t>> find_cycle(std::span<const PathStep> steps) {
  Ways ways;
  for (const PathStep& step : steps) ways[step.at].push_back(step.next);
  std::map<std::size_t, Colour> colours;
  for (const auto& [node, next] : ways)
    if (colours[node] == Colour::fresh)
      if (auto cycle = cycle_from(ways, node, colours)) return cycle;
  return std::nullopt;
}

std::string cycle_text(std::span<const std::string> names, const std::vector<std::size_t>& cycle) {
  std::string text;
  for (const std::size_t node : cycle) text += names[node] + " -> ";
  return cycle.empty() ? text : text + names[cycle.front()];
}

}  // namespace tributary::config
