// SPDX-License-Identifier: Apache-2.0
// Parses a certificate with OpenSSL 3, as a server does for each client that presents one. Decoding
// its public key asks the library for a decoder, which takes dozens of rwlocks.

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <vector>

#include "timed_threads.hpp"

namespace {

constexpr long serial_number = 20170331;

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using certificate_ptr = std::unique_ptr<X509, decltype(&X509_free)>;

key_ptr make_key() {
  key_ptr key{EVP_RSA_gen(2048), EVP_PKEY_free};
  examples::require(key != nullptr, "OpenSSL could not make an RSA key");
  return key;
}

// A self-signed certificate, as DER.
std::vector<unsigned char> make_certificate(EVP_PKEY* key) {
  const certificate_ptr certificate{X509_new(), X509_free};
  X509* made = certificate.get();
  examples::require(made != nullptr, "OpenSSL could not make a certificate");
  X509_NAME* name = X509_get_subject_name(made);
  const auto* host = reinterpret_cast<const unsigned char*>("example.org");
  const bool complete =
      X509_set_version(made, X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set(X509_get_serialNumber(made), serial_number) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(made), 0) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(made), 24L * 60 * 60) != nullptr &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0) == 1 &&
      X509_set_issuer_name(made, name) == 1 && X509_set_pubkey(made, key) == 1 &&
      X509_sign(made, key, EVP_sha256()) > 0;
  examples::require(complete, "OpenSSL could not complete the certificate");

  const int size = i2d_X509(made, nullptr);
  examples::require(size > 0, "OpenSSL could not encode the certificate");
  std::vector<unsigned char> der(static_cast<std::size_t>(size));
  unsigned char* end = der.data();
  i2d_X509(made, &end);
  return der;
}

}  // namespace

int main(int argc, char** argv) {
  const examples::program program{
      "x509_parse", "Threads parse an RSA certificate from DER; an operation is one certificate."};
  return program.main(argc, argv, [](const examples::settings& chosen) {
    const key_ptr key = make_key();
    const std::vector<unsigned char> der = make_certificate(key.get());
    return examples::run(chosen, [&](unsigned) {
      return [&] {
        const unsigned char* begin = der.data();
        const certificate_ptr parsed{d2i_X509(nullptr, &begin, static_cast<long>(der.size())),
                                     X509_free};
        examples::require(parsed != nullptr && begin == der.data() + der.size(),
                          "OpenSSL refused the certificate it had made");
        examples::require(ASN1_INTEGER_get(X509_get0_serialNumber(parsed.get())) == serial_number,
                          "the serial number changed in parsing");
        const EVP_PKEY* parsed_key = X509_get0_pubkey(parsed.get());
        examples::require(parsed_key != nullptr && EVP_PKEY_get_bits(parsed_key) == 2048,
                          "the public key changed in parsing");
      };
    });
  });
}
