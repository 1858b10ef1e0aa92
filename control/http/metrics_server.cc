#include "control/http/metrics_server.h"

#include <prometheus/text_serializer.h>

#include <stdexcept>
#include <utility>

namespace tributary::control {
namespace {

HttpServer::Pages with_metrics(std::shared_ptr<prometheus::Collectable> source,
                               HttpServer::Pages pages) {
  pages["/metrics"] = [source = std::move(source)](const HttpQuery&) {
    return HttpPage{200, "text/plain; version=0.0.4; charset=utf-8",
                    prometheus::TextSerializer().Serialize(source->Collect())};
  };
  return pages;
}

}  // namespace

MetricsServer::MetricsServer(const std::string& option, const std::string& listen,
                             std::shared_ptr<prometheus::Collectable> source,
                             HttpServer::Pages more) try
    : server_(listen, with_metrics(std::move(source), std::move(more))) {
} catch (const std::runtime_error& error) {
  throw std::runtime_error(option + ": " + error.what());
}

}  // namespace tributary::control
