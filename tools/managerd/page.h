// The manager's page for operators: one document without anything from elsewhere, which asks for
// the JSON pages once a second. What they say is put in as text, never as HTML.
#pragma once

namespace tributary::managerd {

extern const char* const kPage;  // HTML

}  // namespace tributary::managerd
