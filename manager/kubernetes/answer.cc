#include "manager/kubernetes/answer.h"

namespace tributary::manager::kubernetes {

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Answer json_answer(unsigned status, const Json& json) {
  return {.status = status, .body = text_of(json) + "\n"};
}

Json Failure::json() const {
  return {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
          {"status", "Failure"}, {"message", what()},  {"reason", reason_},
          {"code", status_}};
}

}  // namespace tributary::manager::kubernetes
