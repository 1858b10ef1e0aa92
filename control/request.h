// One request of the control socket: a line of JSON in, a line of JSON out.
//
//   {"command":"show","what":"ports"}  →  {"ok":true,"data":[...]}
//   anything else                      →  {"ok":false,"error":"what is wrong; what is allowed"}
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tributary::control {

using ShowFunction = std::function<nlohmann::ordered_json(const std::string& what)>;

// Never throws; the reply has no newline.
std::string answer_request(std::string_view line, const ShowFunction& show);

}  // namespace tributary::control
