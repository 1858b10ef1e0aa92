// Files that TLS cannot use are named; expired certificates are tests/system's.
#include "manager/api/certificate.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstring>
#include <fstream>

#include "tests/manager/store/scratch.h"

namespace tributary::manager {
namespace {

TEST(Certificate, AFileThatIsNoneIsRefused) {
  const Scratch scratch;
  std::ofstream(scratch.file()) << "-----BEGIN CERTIFICATE-----\nnonsense\n";
  try {
    check_certificate(scratch.file());
    ADD_FAILURE() << "was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), scratch.file() + ": is no certificate in PEM");
  }
}

// A key, and a certificate that it signs itself, in files.
struct Pair {
  explicit Pair(const std::string& stem, long seconds = 3600)
      : certificate(stem + ".pem"), key(stem + ".key") {
    EVP_PKEY* const own = EVP_EC_gen("P-256");
    X509* const made = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(made), 0);
    X509_gmtime_adj(X509_getm_notAfter(made), seconds);
    X509_set_pubkey(made, own);
    X509_sign(made, own, EVP_sha256());
    BIO* const key_file = BIO_new_file(key.c_str(), "w");
    BIO* const certificate_file = BIO_new_file(certificate.c_str(), "w");
    EXPECT_EQ(PEM_write_bio_PrivateKey(key_file, own, nullptr, nullptr, 0, nullptr, nullptr), 1);
    EXPECT_EQ(PEM_write_bio_X509(certificate_file, made), 1);
    BIO_free(certificate_file);
    BIO_free(key_file);
    X509_free(made);
    EVP_PKEY_free(own);
  }
  std::string certificate;
  std::string key;
};

TEST(Certificate, SaysHowLongItIsValid) {
  const Scratch scratch;
  EXPECT_EQ(validity_of(Pair(scratch.file() + "hour", 3600).certificate).days, 0);
  EXPECT_EQ(validity_of(Pair(scratch.file() + "long", 30 * 86'400 + 3600).certificate).days, 30);
  EXPECT_EQ(validity_of(Pair(scratch.file() + "over", -3600).certificate).days, -1);
  EXPECT_EQ(validity_of(Pair(scratch.file() + "old", -2 * 86'400 - 3600).certificate).days, -3);
  const std::string until = validity_of(Pair(scratch.file() + "text", 3600).certificate).until;
  EXPECT_TRUE(until.ends_with(" GMT")) << until;
}

TEST(Certificate, FilesThatAServerCannotUseAreNamed) {
  const Scratch scratch;
  const Pair one(scratch.file() + "one");
  const Pair two(scratch.file() + "two");
  const auto error_of = [](const std::string& ca, const std::string& own, const std::string& key) {
    try {
      check_tls_files(ca, own, key);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error_of(two.certificate, one.certificate, one.key), "none");
  EXPECT_EQ(error_of(two.key, one.certificate, one.key), two.key + ": is no certificate in PEM");
  EXPECT_EQ(error_of(two.certificate, one.key, one.key), one.key + ": is no certificate in PEM");
  EXPECT_EQ(error_of(two.certificate, one.certificate, one.certificate),
            one.certificate + ": is no private key in PEM");
  EXPECT_EQ(error_of(two.certificate, one.certificate, two.key),
            two.key + ": is not the key of " + one.certificate);
}

}  // namespace
}  // namespace tributary::manager
