#include "telemetry/path/cycle.h"

#include <algorithm>
#include <map>

namespace tributary::telemetry {
namespace {

using Ways = std::map<std::size_t, std::vector<std::size_t>>;  // node → next nodes
enum class Colour : std::uint8_t { fresh, on_the_way, done };

struct Step {
  std::size_t node = 0;
  std::size_t taken = 0;  // of its ways
};

std::optional<std::vector<std::size_t>> cycle_from(const Ways& ways, std::size_t start,
                                                   std::map<std::size_t, Colour>& colours) {
  std::vector<Step> stack{{start, 0}};
  colours[start] = Colour::on_the_way;
  while (!stack.empty()) {
    Step& step = stack.back();
    const auto found = ways.find(step.node);
    if (found == ways.end() || step.taken == found->second.size()) {
      colours[step.node] = Colour::done;
      stack.pop_back();
      continue;
    }
    const std::size_t next = found->second[step.taken++];
    if (colours[next] == Colour::on_the_way) {
      std::vector<std::size_t> cycle;
      auto at = std::find_if(stack.begin(), stack.end(),
                             [next](const Step& s) { return s.node == next; });
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

std::optional<std::vector<std::size_t>> find_cycle(std::span<const PathCommand> old_commands,
                                                   std::span<const PathCommand> new_commands) {
  std::map<std::uint64_t, Ways> by_destination;
  for (const auto commands : {old_commands, new_commands})
    for (const PathCommand& command : commands)
      by_destination[command.destination][command.at].push_back(command.next);
  for (const auto& [destination, ways] : by_destination) {
    std::map<std::size_t, Colour> colours;
    for (const auto& [node, next] : ways)
      if (colours[node] == Colour::fresh)
        if (auto cycle = cycle_from(ways, node, colours)) return cycle;
  }
  return std::nullopt;
}

std::string cycle_text(std::span<const std::string> names, const std::vector<std::size_t>& cycle) {
  std::string text;
  for (const std::size_t node : cycle) text += names[node] + " -> ";
  return cycle.empty() ? text : text + names[cycle.front()];
}

}  // namespace tributary::telemetry
