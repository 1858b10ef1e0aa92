#include "config/model/bracketing.h"

#include <algorithm>

namespace tributary::config {
namespace {

const char* const kAllowed =
    "a list of ranks and of such lists, e.g. [[0, 1, 2], [3, 4]], every rank once, at most 8 deep";

void gather(const Bracket& bracket, std::vector<std::uint32_t>& ranks) {
  if (bracket.items.empty()) ranks.push_back(bracket.rank);
  for (const Bracket& item : bracket.items) gather(item, ranks);
}

void fail(ReadContext& context, const std::string& path, const Node& node,
          const std::string& problem) {
  context.fail(path, node.mark, problem + "; allowed: " + kAllowed);
}

bool read(ReadContext& context, const std::string& path, const Node& node, int depth,
          Bracket& out) {
  if (node.kind == Node::Kind::scalar) {
    std::int64_t rank = 0;
    if (const auto problem = check_integer(node, 0, kMaxWorkers - 1, rank)) {
      fail(context, path, node, quoted(node.text) + " " + *problem);
      return false;
    }
    out.rank = static_cast<std::uint32_t>(rank);
    return true;
  }
  if (node.kind != Node::Kind::sequence || node.items.empty()) {
    fail(context, path, node,
         std::string("has ") + (node.items.empty() ? "an empty list" : name_of(node.kind)));
    return false;
  }
  if (depth == kMaxBracketDepth) {
    fail(context, path, node, "is nested too deep");
    return false;
  }
  out.items.resize(node.items.size());
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (!read(context, path, node.items[i], depth + 1, out.items[i])) return false;
  return true;
}

}  // namespace

std::string format_bracket(const Bracket& bracket) {
  if (bracket.items.empty()) return std::to_string(bracket.rank);
  std::string text;
  for (const Bracket& item : bracket.items)
    text.append(text.empty() ? "[" : ", ").append(format_bracket(item));
  return text + "]";
}

std::vector<std::uint32_t> ranks_of(const Bracket& bracket) {
  std::vector<std::uint32_t> ranks;
  gather(bracket, ranks);
  return ranks;
}

const Bracket* find_bracket(const Bracket& order, const std::vector<std::uint32_t>& ranks) {
  std::vector<std::uint32_t> inside = ranks_of(order);
  std::sort(inside.begin(), inside.end());
  if (inside == ranks) return &order;
  for (const Bracket& item : order.items)
    if (const Bracket* found = find_bracket(item, ranks)) return found;
  return nullptr;
}

std::optional<std::string> bracketing_problem(const Bracket& bracket, std::uint32_t workers) {
  std::vector<std::uint32_t> ranks = ranks_of(bracket);
  std::sort(ranks.begin(), ranks.end());
  const std::string all = "; allowed: each of 0 to " + std::to_string(workers - 1) + " once";
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] >= workers)
      return "rank " + std::to_string(ranks[i]) + " is outside the job" + all;
    if (i > 0 && ranks[i] == ranks[i - 1])
      return "rank " + std::to_string(ranks[i]) + " stands there twice" + all;
  }
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    if (rank >= ranks.size() || ranks[rank] != rank)
      return "rank " + std::to_string(rank) + " is missing" + all;
  return std::nullopt;
}

Field<JobConfig> bracketing_field(const std::string& name, const std::string& meaning) {
  Field<JobConfig> field;
  field.name = name;
  field.read = [](ReadContext& context, const std::string& path, const Node& node,
                  JobConfig& owner) {
    Bracket bracket;
    if (node.kind == Node::Kind::scalar) return fail(context, path, node, "is no list");
    if (read(context, path, node, 0, bracket)) owner.bracketing = std::move(bracket);
  };
  field.write = [name](const JobConfig& owner, int indent) -> std::string {
    if (!owner.bracketing) return "";
    return indentation(indent) + name + ": " + format_bracket(*owner.bracketing) + "\n";
  };
  field.describe = [meaning](const std::string& path, std::vector<KeyInfo>& out) {
    out.push_back({path, "list", "none", kAllowed, meaning});
  };
  return field;
}

}  // namespace tributary::config
