// Selectors of lists and watches (Kubernetes, "Labels and Selectors", "Field Selectors"):
//
//   labels   app=train, app!=train, app in (a, b), app notin (a, b), app, !app
//   fields   metadata.name=train,status.phase!=Failed
#pragma once

#include <string>
#include <vector>

#include "manager/kubernetes/answer.h"

namespace tributary::manager::kubernetes {

class Selector {
 public:
  // Throws Failure (400) that names what is not understood.
  Selector(const std::string& labels, const std::string& fields);
  [[nodiscard]] bool matches(const Json& object) const;

 private:
  struct Term {
    std::string key;
    std::vector<std::string> values;  // empty: any
    bool wanted = true;
  };
  void add_label(std::string_view text);
  void add_field(std::string_view text);

  std::vector<Term> labels_;
  std::vector<Term> fields_;
};

}  // namespace tributary::manager::kubernetes
