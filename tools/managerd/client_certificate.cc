#include "tools/managerd/client_certificate.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <array>
#include <memory>
#include <vector>

namespace tributary::managerd {
namespace {

struct Free {
  void operator()(gnutls_x509_crt_t certificate) const { gnutls_x509_crt_deinit(certificate); }
};
using Certificate = std::unique_ptr<gnutls_x509_crt_int, Free>;

constexpr std::size_t kMostName = 256;
constexpr unsigned kMostNames = 64;

Certificate certificate_of(const gnutls_datum_t& der) {
  gnutls_x509_crt_t raw = nullptr;
  if (gnutls_x509_crt_init(&raw) != GNUTLS_E_SUCCESS) return nullptr;
  Certificate certificate(raw);
  if (gnutls_x509_crt_import(raw, &der, GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS) return nullptr;
  return certificate;
}

std::string common_name(const Certificate& certificate) {
  std::array<char, kMostName> text;
  std::size_t size = text.size();
  if (gnutls_x509_crt_get_dn_by_oid(certificate.get(), GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                    text.data(), &size) != GNUTLS_E_SUCCESS)
    return "";
  return {text.data(), size};
}

std::vector<std::string> uris(const Certificate& certificate) {
  std::vector<std::string> found;
  for (unsigned i = 0; i < kMostNames; ++i) {
    std::array<char, kMostName> text;
    std::size_t size = text.size();
    const int kind =
        gnutls_x509_crt_get_subject_alt_name(certificate.get(), i, text.data(), &size, nullptr);
    if (kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) break;
    if (kind == GNUTLS_SAN_URI) found.emplace_back(text.data(), size);
  }
  return found;
}

std::string why_not(unsigned status) {
  gnutls_datum_t text{};
  if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) !=
      GNUTLS_E_SUCCESS)
    return "the certificate is not trusted";
  std::string why(reinterpret_cast<const char*>(text.data), text.size);
  gnutls_free(text.data);
  while (!why.empty() && (why.back() == ' ' || why.back() == '.')) why.pop_back();
  return why;
}

}  // namespace

Caller caller_of(gnutls_session_int* session) {
  unsigned count = 0;
  const gnutls_datum_t* const chain = gnutls_certificate_get_peers(session, &count);
  if (chain == nullptr || count == 0)
    return {{}, "no certificate was shown; kubectl config set-credentials --client-certificate"};
  gnutls_typed_vdata_st purpose{GNUTLS_DT_KEY_PURPOSE_OID, {}, 0};
  std::string client = GNUTLS_KP_TLS_WWW_CLIENT;
  purpose.data = reinterpret_cast<unsigned char*>(client.data());
  unsigned status = 0;
  if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) != GNUTLS_E_SUCCESS)
    return {{}, "the certificate cannot be verified"};
  if (status != 0) return {{}, why_not(status)};
  const Certificate certificate = certificate_of(chain[0]);
  if (!certificate) return {{}, "the certificate cannot be read"};
  return {manager::Identity::of_certificate(uris(certificate), common_name(certificate)), ""};
}

}  // namespace tributary::managerd
