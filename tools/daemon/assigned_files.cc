#include "tools/daemon/assigned_files.h"

#include <charconv>
#include <filesystem>

#include "config/text/file.h"
#include "tools/daemon/put_aside.h"
#include "tools/program/output_file.h"

namespace tributary::tools {

std::optional<std::uint64_t> AssignedFiles::load_term(bool put_aside, Kept& kept) const {
  if (!std::filesystem::exists(term_path_)) return std::nullopt;
  const std::string text = config::read_file(term_path_);
  std::uint64_t term = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), term);
  if (error == std::errc() && std::string_view(end, text.data() + text.size()) == "\n") return term;
  kept.damage.push_back(
      damage_of(term_path_, "it holds no term", put_aside, "with the document's term"));
  return std::nullopt;
}

AssignedFiles::Kept AssignedFiles::load(bool put_aside) const {
  Kept kept;
  const auto term = load_term(put_aside, kept);
  if (std::filesystem::exists(path_)) {
    const std::string text = config::read_file(path_);
    try {
      kept.document = config::parse_assigned(text, path_);
    } catch (const config::ConfigErrors& errors) {
      kept.damage.push_back(damage_of(path_, errors.errors().front().to_string(), put_aside,
                                      "with its own file alone"));
    }
  }
  if (kept.document) kept.latest = kept.document->version;
  // Another one: a document of that term was to come, or the term was forgotten since.
  if (term && *term != kept.latest.term) kept.latest = {*term, 0};
  return kept;
}

void AssignedFiles::keep_term(std::uint64_t term) const {
  keep_file(term_path_, std::to_string(term) + "\n");
}

void AssignedFiles::keep(const std::string& text) const {
  keep_file(path_, text);
}

}  // namespace tributary::tools
