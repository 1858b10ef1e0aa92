#include "manager/service/log_reader.h"

#include <algorithm>
#include <utility>

namespace tributary::manager {
namespace {

constexpr std::chrono::seconds kLimit{10};
using Kind = LogError::Kind;

std::pair<std::string, LogQuestion> question_of(const PodBook& book, const std::string& pod,
                                                const std::string& container, std::uint32_t lines) {
  const auto at = book.pods().find(pod);
  if (at == book.pods().end()) throw LogError(Kind::no_pod, "there is no pod " + pod);
  const PodRecord& record = at->second;
  if (record.node.empty())
    throw LogError(Kind::no_place, "pod " + pod + " has no place: " + record.message);
  const std::uint32_t most = lines == 0 ? kMostLogLines : std::min(lines, kMostLogLines);
  std::string names;
  for (const Container& one : record.pod.spec.containers) {
    if (container.empty() || one.name == container)
      return {record.node, LogQuestion{0, record.instance(), one.name, most}};
    names += (names.empty() ? "" : ", ") + one.name;
  }
  throw LogError(Kind::no_container,
                 "pod " + pod + " has no container " + container + "; allowed: " + names);
}

}  // namespace

std::string read_log(PodCluster& pods, const std::string& pod, const std::string& container,
                     std::uint32_t lines) {
  const auto [node, question] = pods.look(
      [&](const PodCluster::View& view) { return question_of(view.book, pod, container, lines); });
  const auto id = pods.logs().ask(node, question);
  if (!id)
    throw LogError(Kind::busy, "node " + node + " has " + std::to_string(LogDesk::kMostQuestions) +
                                   " such questions already; try again");
  pods.nudge();
  auto answer = pods.logs().wait(*id, kLimit);
  if (!answer) throw LogError(Kind::silent, "the agent of node " + node + " does not answer");
  if (!answer->problem.empty()) throw LogError(Kind::no_place, answer->problem);
  return std::move(answer->text);
}

}  // namespace tributary::manager
