// The files in which a switch keeps what its manager assigns, for the next start (--assigned):
//
//   FILE        the document
//   FILE.term   the highest term of a manager that the switch has obeyed: an older manager is
//               refused even where the document is damaged. Written before a document of that term.
//
// Both are on the disk when a function returns. A file that cannot be read as what it should be,
// such as one that a loss of power left empty, is put aside as FILE.damaged or FILE.term.damaged.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/topology/assigned.h"

namespace tributary::tools {

class AssignedFiles {
 public:
  explicit AssignedFiles(std::string path) : path_(std::move(path)), term_path_(path_ + ".term") {}

  struct Kept {
    std::optional<config::Assigned> document;
    // Later versions than this are taken.
    config::Version latest;
    std::vector<std::string> damage;  // a line for each damaged file
  };
  // `put_aside`: renames damaged files. Throws ConfigErrors for a file that cannot be read at all.
  [[nodiscard]] Kept load(bool put_aside) const;
  // Throw std::runtime_error when the file cannot be written.
  void keep_term(std::uint64_t term) const;
  void keep(const std::string& text) const;

 private:
  [[nodiscard]] std::optional<std::uint64_t> load_term(bool put_aside, Kept& kept) const;

  const std::string path_;
  const std::string term_path_;
};

}  // namespace tributary::tools
