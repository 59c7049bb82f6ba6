#include "launcher/channel/certificate.h"

#include <memory>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

// It is good for one job and pinned by its agents, so its time protects nothing; but whoever checks
// it goes by his own clock, and one that has lost its battery stands at 1970.
constexpr const char* kBegin = "19700101000000Z";
constexpr const char* kEnd = "99991231235959Z";  // "no end": RFC 5280, 4.1.2.5

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using X509Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free>>;

Status refused(const char* what) {
  return Status(Code::kInternal, Scope::kProcess,
                std::string("OpenSSL cannot ") + what + " for the job's certificate");
}

bool extend(X509* certificate, int kind, const std::string& value) {
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Result<X509Certificate> sign(EVP_PKEY* key) {
  X509Certificate certificate(X509_new());
  X509* const made = certificate.get();
  if (made == nullptr) return refused("allocate memory");
  X509_NAME* const name = X509_get_subject_name(made);
  const auto* text = reinterpret_cast<const unsigned char*>(kHeadName);
  const bool filled = X509_set_version(made, X509_VERSION_3) == 1 &&
                      ASN1_INTEGER_set(X509_get_serialNumber(made), 1) == 1 &&
                      ASN1_TIME_set_string_X509(X509_getm_notBefore(made), kBegin) == 1 &&
                      ASN1_TIME_set_string_X509(X509_getm_notAfter(made), kEnd) == 1 &&
                      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
                      X509_set_issuer_name(made, name) == 1 && X509_set_pubkey(made, key) == 1 &&
                      extend(made, NID_subject_alt_name, std::string("DNS:") + kHeadName) &&
                      extend(made, NID_basic_constraints, "critical,CA:TRUE");
  if (!filled || X509_sign(made, key, EVP_sha256()) == 0) return refused("sign");
  return certificate;
}

std::string text_of(BIO* memory) {
  char* begin = nullptr;
  const long length = BIO_get_mem_data(memory, &begin);
  return std::string(begin, static_cast<std::size_t>(length));
}

}  // namespace

Result<Certificate> make_certificate() {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return refused("make a key");
  PACELINE_TRY_ASSIGN(const X509Certificate certificate, sign(key.get()));
  const Memory pem(BIO_new(BIO_s_mem()));
  const Memory key_pem(BIO_new(BIO_s_secmem()));
  if (!pem || !key_pem || PEM_write_bio_X509(pem.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1)
    return refused("write");
  return Certificate{.pem = text_of(pem.get()), .key_pem = text_of(key_pem.get())};
}

}  // namespace paceline::launcher
