#include "comm/job_key.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/exit.h"

namespace paceline {
namespace {

constexpr std::size_t kDigits = 2 * JobKey::kBytes;
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

// A file of the program that begins with hexadecimal digits does not have the seals.
bool is_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

Status key_error(std::string what) {
  return Status(Code::kDenied, Scope::kProcess, "job key: " + std::move(what));
}

Status key_error_of_system(const std::string& what) {
  return key_error(what + ": " + std::strerror(errno));
}

std::string user_text(uid_t user) { return "user " + std::to_string(user); }

// `file`: why the key file of the environment did not help; empty if the environment names none.
Status lost_descriptor(int fd, const std::string& file) {
  const std::string name = "descriptor " + std::to_string(fd);
  const std::string copy =
      file.empty() ? std::string()
                   : ", and the file of PACELINE_JOB_KEY_FILE cannot be used: " + file +
                         " (nor can it if this process has another user, user namespace or pid "
                         "namespace than `paceline run`)";
  return key_error(name +
                   " does not contain 64 hexadecimal digits, because a program between `paceline "
                   "run` and this one closed or replaced it" +
                   copy + "; make that program keep " + name +
                   " open (Python: subprocess.run(..., close_fds=False); sudo: -C " +
                   std::to_string(fd + 1) + "), or make it copy " + name +
                   " to a file of mode 0600 of this process's user and set PACELINE_JOB_KEY_FILE "
                   "to its path");
}

}  // namespace

Result<JobKey> JobKey::generate() {
  JobKey key;
  PACELINE_TRY(fill_system_random(std::as_writable_bytes(std::span(key.key_))));
  return key;
}

Result<JobKey> JobKey::from_descriptor(int fd) {
  char digits[kDigits];
  if (::pread(fd, digits, kDigits, 0) != static_cast<ssize_t>(kDigits)) {
    return key_error("descriptor " + std::to_string(fd) +
                     " does not contain 64 hexadecimal digits");
  }
  JobKey key;
  bool valid = true;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const char* pair = digits + 2 * i;
    const auto [end, error] = std::from_chars(pair, pair + 2, key.key_[i], 16);
    valid &= error == std::errc() && end == pair + 2;
  }
  OPENSSL_cleanse(digits, sizeof digits);
  if (!valid)
    return key_error("descriptor " + std::to_string(fd) +
                     " does not contain 64 hexadecimal digits");
  return key;
}

Result<JobKey> JobKey::from_file(const std::string& path) {
  // Not blocking, since it could be a pipe that nobody writes.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return key_error_of_system("cannot read " + path);
  if (!S_ISREG(status.st_mode)) return key_error(path + " is not a regular file");
  if (status.st_uid != ::geteuid()) {
    return key_error(path + " belongs to " + user_text(status.st_uid) + ", and this process runs " +
                     "as " + user_text(::geteuid()) + "; use a key file that belongs to " +
                     user_text(::geteuid()));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return key_error("other users may read " + path + "; chmod 600 it, and use a new key");
  }
  Result<JobKey> key = from_descriptor(fd.get());
  if (!key.ok()) return key_error(path + " does not contain 64 hexadecimal digits");
  return key;
}

JobKey JobKey::from_bytes(std::span<const std::byte, kBytes> bytes) {
  JobKey key;
  std::memcpy(key.key_.data(), bytes.data(), kBytes);
  return key;
}

JobKey JobKey::copy() const {
  JobKey other;
  other.key_ = key_;
  return other;
}

void JobKey::copy_to(std::span<std::byte, kBytes> bytes) const {
  std::memcpy(bytes.data(), key_.data(), kBytes);
}

Result<std::unique_ptr<JobKey>> JobKey::from_environment(const Environment& environment) {
  if (!environment.job_key_fd && environment.job_key_file.empty()) {
    return std::unique_ptr<JobKey>();
  }
  const std::optional<int> fd = environment.job_key_fd;
  if (fd && is_sealed(*fd)) {
    Result<JobKey> inherited = from_descriptor(*fd);
    if (inherited.ok()) return std::make_unique<JobKey>(*std::move(inherited));
  }
  if (environment.job_key_file.empty()) return lost_descriptor(*fd, "");
  Result<JobKey> key = from_file(environment.job_key_file);
  if (key.ok()) return std::make_unique<JobKey>(*std::move(key));
  return fd ? lost_descriptor(*fd, key.status().text()) : key.status();
}

void JobKey::keep_from_children(const Environment& environment) {
  const std::optional<int> fd = environment.job_key_fd;
  if (fd && is_sealed(*fd) && from_descriptor(*fd).ok()) ::fcntl(*fd, F_SETFD, FD_CLOEXEC);
}

JobKey::JobKey(JobKey&& other) noexcept : key_(other.key_) {
  OPENSSL_cleanse(other.key_.data(), kBytes);
}

JobKey& JobKey::operator=(JobKey&& other) noexcept {
  if (this == &other) return *this;
  key_ = other.key_;
  OPENSSL_cleanse(other.key_.data(), kBytes);
  return *this;
}

JobKey::~JobKey() { OPENSSL_cleanse(key_.data(), kBytes); }

Result<UniqueFd> JobKey::to_memfd() const {
  UniqueFd fd(::memfd_create("paceline-key", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return key_error_of_system("memfd_create");
  char digits[kDigits + 1];
  for (std::size_t i = 0; i < kBytes; ++i) {
    constexpr char kHex[] = "0123456789abcdef";
    digits[2 * i] = kHex[key_[i] >> 4];
    digits[2 * i + 1] = kHex[key_[i] & 15];
  }
  digits[kDigits] = '\n';
  const ssize_t written = ::pwrite(fd.get(), digits, sizeof digits, 0);
  OPENSSL_cleanse(digits, sizeof digits);
  if (written != static_cast<ssize_t>(sizeof digits)) return key_error_of_system("pwrite");
  // memfd_create makes it readable for everyone who can open it.
  if (::fchmod(fd.get(), 0400) != 0) return key_error_of_system("fchmod");
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return key_error_of_system("F_ADD_SEALS");
  return fd;
}

Mac JobKey::prove(std::string_view purpose, ByteView text) const {
  const UseBeforeExit use;
  return use ? hmac(purpose, text) : Mac();
}

bool JobKey::verify(std::string_view purpose, ByteView text, ByteView mac) const {
  const UseBeforeExit use;
  if (!use) return false;
  const Mac expected = hmac(purpose, text);
  return mac.size() == expected.size() &&
         ::CRYPTO_memcmp(mac.data(), expected.data(), expected.size()) == 0;
}

Mac JobKey::hmac(std::string_view purpose, ByteView text) const {
  // The purpose ends with a zero byte, so that no two pairs of purpose and text run together.
  Bytes input;
  ByteWriter writer(input);
  writer.put_bytes(as_byte_view(purpose));
  writer.put(std::uint8_t{0});
  writer.put_bytes(text);
  Mac mac;
  unsigned int length = mac.size();
  ::HMAC(EVP_sha256(), key_.data(), static_cast<int>(kBytes),
         reinterpret_cast<const unsigned char*>(input.data()), input.size(),
         reinterpret_cast<unsigned char*>(mac.data()), &length);
  return mac;
}

}  // namespace paceline
