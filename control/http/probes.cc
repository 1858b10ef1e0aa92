#include "control/http/probes.h"

namespace tributary::control {
namespace {

HttpPage page_of(const Probe& probe) {
  constexpr const char* kText = "text/plain; charset=utf-8";
  const std::string wrong = probe();
  if (wrong.empty()) return {200, kText, "ok\n"};
  return {503, kText, wrong};
}

}  // namespace

HttpServer::Pages probe_pages(const Probe& health, const Probe& readiness) {
  return {{"/healthz", [health](const HttpQuery&) { return page_of(health); }},
          {"/readyz", [readiness](const HttpQuery&) { return page_of(readiness); }}};
}

}  // namespace tributary::control
