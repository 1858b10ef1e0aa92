#include "manager/api/certificate.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <stdexcept>

#include "config/text/file.h"

namespace tributary::manager {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};

std::string text_of(const ASN1_TIME* time) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

void check_certificate(const std::string& path) {
  const std::string text = config::read_file(path);
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const std::unique_ptr<X509, Free> certificate(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!certificate) throw std::runtime_error(path + ": is no certificate in PEM");
  const ASN1_TIME* const begins = X509_get0_notBefore(certificate.get());
  const ASN1_TIME* const ends = X509_get0_notAfter(certificate.get());
  if (X509_cmp_current_time(ends) < 0)
    throw std::runtime_error(path + ": the certificate expired at " + text_of(ends) +
                             "; ask the authority for another one");
  if (X509_cmp_current_time(begins) > 0)
    throw std::runtime_error(path + ": the certificate is valid from " + text_of(begins) +
                             " on; is this machine's clock right?");
}

}  // namespace tributary::manager
