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
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

std::string text_of(const ASN1_TIME* time) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

template <typename Read>
auto read_from(const std::string& path, Read read) {
  const std::string text = config::read_file(path);
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return read(bio.get());
}

std::unique_ptr<X509, Free> read_certificate(const std::string& path) {
  std::unique_ptr<X509, Free> certificate(read_from(
      path, [](BIO* from) { return PEM_read_bio_X509(from, nullptr, nullptr, nullptr); }));
  if (!certificate) throw std::runtime_error(path + ": is no certificate in PEM");
  return certificate;
}

// One with a passphrase is none: nothing asks for that.
std::unique_ptr<EVP_PKEY, Free> read_key(const std::string& path) {
  std::unique_ptr<EVP_PKEY, Free> key(read_from(path, [](BIO* from) {
    return PEM_read_bio_PrivateKey(from, nullptr, nullptr, const_cast<char*>(""));
  }));
  if (!key) throw std::runtime_error(path + ": is no private key in PEM");
  return key;
}

}  // namespace

void check_tls_files(const std::string& ca, const std::string& certificate,
                     const std::string& key) {
  read_certificate(ca);
  const auto own = read_certificate(certificate);
  const auto own_key = read_key(key);
  if (X509_check_private_key(own.get(), own_key.get()) != 1)
    throw std::runtime_error(key + ": is not the key of " + certificate);
}

Validity validity_of(const std::string& path) {
  const auto certificate = read_certificate(path);
  const ASN1_TIME* const ends = X509_get0_notAfter(certificate.get());
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, nullptr, ends) != 1)
    throw std::runtime_error(path + ": the certificate has no time at which it ends");
  return {seconds < 0 ? days - 1 : days, text_of(ends)};
}

void check_certificate(const std::string& path) {
  const auto certificate = read_certificate(path);
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
