// The telemetry server's page for operators: one document without anything from elsewhere, which
// asks for the JSON pages once a second.
#pragma once

namespace tributary::telemetryd {

extern const char* const kPage;  // HTML

}  // namespace tributary::telemetryd
