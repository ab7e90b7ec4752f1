// SPDX-License-Identifier: Apache-2.0
// Fetches a digest and a cipher from OpenSSL 3 by name, as a program does that passes "SHA256" for
// each message it handles. Every fetch takes several rwlocks of the library's default context.

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "timed_threads.hpp"

int main(int argc, char** argv) {
  std::string digest = "SHA256";
  std::string cipher = "AES-256-GCM";
  const examples::program program{
      "openssl_fetch",
      "Threads fetch and free a digest and a cipher; an operation is one of each.",
      {{"--digest", &digest, "Name of the digest"}, {"--cipher", &cipher, "Name of the cipher"}}};
  const auto fetch_digest = [&] {
    return std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)>{
        EVP_MD_fetch(nullptr, digest.c_str(), nullptr), EVP_MD_free};
  };
  const auto fetch_cipher = [&] {
    return std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)>{
        EVP_CIPHER_fetch(nullptr, cipher.c_str(), nullptr), EVP_CIPHER_free};
  };
  const auto require_known = [](bool known, const std::string& kind, const std::string& name) {
    examples::require(known, ("OpenSSL knows no " + kind + " '" + name + "'; 'openssl list -" +
                              kind + "-algorithms' prints the names")
                                 .c_str());
  };
  return program.main(argc, argv, [&](const examples::settings& chosen) {
    const auto first_digest = fetch_digest();
    const auto first_cipher = fetch_cipher();
    require_known(first_digest != nullptr, "digest", digest);
    require_known(first_cipher != nullptr, "cipher", cipher);
    const int digest_size = EVP_MD_get_size(first_digest.get());
    const int key_length = EVP_CIPHER_get_key_length(first_cipher.get());
    return examples::run(chosen, [&](unsigned) {
      return [&] {
        const auto fetched_digest = fetch_digest();
        const auto fetched_cipher = fetch_cipher();
        examples::require(fetched_digest && EVP_MD_get_size(fetched_digest.get()) == digest_size,
                          "OpenSSL returned a different digest than at the start");
        examples::require(
            fetched_cipher && EVP_CIPHER_get_key_length(fetched_cipher.get()) == key_length,
            "OpenSSL returned a different cipher than at the start");
      };
    });
  });
}
