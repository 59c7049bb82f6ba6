// Runs a fuzzer where there is no libFuzzer: the corpus as it is, then inputs that are made from
// it by mutations which a seed decides. Blind to coverage, but everywhere, and under every
// sanitizer. With files only it replays them.
//
//   fuzz_framing tests/fuzz/corpus/framing --inputs 100000 --seed 7
//   fuzz_framing crash-framing-7                                      (replays one input)
//
// An input that crashes or hangs is left in a file, and the command that replays it is printed.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "tests/fuzz/fuzz_input.h"

// The sanitizers' hook, where one is linked.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace paceline::fuzz {
namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMaxBytes = 4096;
constexpr unsigned kPatienceSeconds = 30;  // of one input; a hang is a finding

struct Options {
  std::vector<std::filesystem::path> places;
  std::uint64_t inputs = 0;
  std::uint64_t seconds = 0;
  std::uint64_t seed = 1;
};

// What the handlers need: they may not allocate.
struct Running {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::string program;
  std::string crash_path;
} running;

void say(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void keep_input() {
  if (running.data == nullptr) return;
  const int fd = ::open(running.crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  (void)!::write(fd, running.data, running.size);
  ::close(fd);
  running.data = nullptr;
  say("\nthe input is in ");
  say(running.crash_path);
  say("; to replay it: ");
  say(running.program);
  say(" ");
  say(running.crash_path);
  say("\n");
}

void on_signal(int signal) {
  if (signal == SIGALRM) say("\nan input takes too long");
  keep_input();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void catch_crashes() {
  // Sanitizers report a crash themselves and then call back.
  std::vector<int> signals = {SIGALRM, SIGABRT};
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_input);
  } else {
    signals.insert(signals.end(), {SIGSEGV, SIGBUS, SIGFPE, SIGILL});
  }
  for (const int signal : signals) ::signal(signal, on_signal);
}

void run_one(const Input& input) {
  // A copy of its very size, so that a sanitizer sees each byte read beyond it.
  const auto copy = std::make_unique<std::uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), copy.get());
  running.data = copy.get();
  running.size = input.size();
  ::alarm(kPatienceSeconds);
  LLVMFuzzerTestOneInput(copy.get(), input.size());
  running.data = nullptr;
}

// Numbers that lengths and counts are compared with.
constexpr std::array<std::uint64_t, 12> kTelling = {
    0, 1, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFF, ~0ull};

class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  Input next() {
    Input input = corpus_[random_.below(corpus_.size())];
    for (std::uint64_t left = 1 + random_.below(8); left > 0; --left) mutate(input);
    input.resize(std::min(input.size(), kMaxBytes));
    return input;
  }

 private:
  void mutate(Input& input) {
    switch (input.empty() ? 3 : random_.below(7)) {
      case 0:
        input[at(input)] ^= static_cast<std::uint8_t>(1u << random_.below(8));
        break;
      case 1:
        input[at(input)] = static_cast<std::uint8_t>(random_.next());
        break;
      case 2:
        overwrite_number(input);
        break;
      case 3:
        insert(input, random_part(Input(1 + random_.below(16))));
        break;
      case 4:
        insert(input, part(input));
        break;
      case 5:
        insert(input, part(corpus_[random_.below(corpus_.size())]));
        break;
      default:
        erase(input);
    }
  }
  std::size_t at(const Input& input) { return random_.below(input.size()); }
  Input random_part(Input bytes) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.next());
    return bytes;
  }
  Input part(const Input& of) {
    if (of.empty()) return {};
    const std::size_t begin = at(of), size = 1 + random_.below(of.size() - begin);
    const auto first = of.begin() + static_cast<std::ptrdiff_t>(begin);
    return Input(first, first + static_cast<std::ptrdiff_t>(size));
  }
  void insert(Input& input, const Input& bytes) {
    const auto where = static_cast<std::ptrdiff_t>(random_.below(input.size() + 1));
    input.insert(input.begin() + where, bytes.begin(), bytes.end());
  }
  void erase(Input& input) {
    const std::size_t begin = at(input), size = 1 + random_.below(input.size() - begin);
    const auto first = input.begin() + static_cast<std::ptrdiff_t>(begin);
    input.erase(first, first + static_cast<std::ptrdiff_t>(size));
  }
  void overwrite_number(Input& input) {
    const std::uint64_t number = kTelling[random_.below(kTelling.size())] + random_.below(3) - 1;
    const std::size_t begin = at(input), width = std::size_t{1} << random_.below(4);
    std::memcpy(input.data() + begin, &number, std::min(width, input.size() - begin));
  }

  const std::vector<Input>& corpus_;
  Random random_;
};

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

std::vector<Input> read_inputs(const std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> files;
  for (const auto& place : places) {
    if (std::filesystem::is_directory(place)) {
      for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry);
    } else if (std::filesystem::exists(place)) {
      files.push_back(place);
    } else {
      std::fprintf(stderr, "error: there is no %s\n", place.c_str());
      std::exit(1);
    }
  }
  std::sort(files.begin(), files.end());  // so that a seed means the same everywhere
  std::vector<Input> inputs;
  for (const auto& file : files) inputs.push_back(read_file(file));
  return inputs;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::uint64_t* number = word == "--inputs"    ? &options.inputs
                            : word == "--seconds" ? &options.seconds
                            : word == "--seed"    ? &options.seed
                                                  : nullptr;
    if (number == nullptr) {
      options.places.emplace_back(word);
    } else if (++i < argc) {
      *number = std::strtoull(argv[i], nullptr, 10);
    }
  }
  return options;
}

int run(const Options& options, const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  running.program = program;
  running.crash_path =
      std::filesystem::absolute("crash-" + name + "-" + std::to_string(options.seed)).string();
  catch_crashes();
  const std::vector<Input> corpus = read_inputs(options.places);
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s FILE|FOLDER… [--inputs N] [--seconds S] [--seed X]\n",
                 name.c_str());
    return 1;
  }
  for (const Input& input : corpus) run_one(input);
  Mutator mutator(corpus, options.seed);
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const Deadline end = Deadline::after(clock, std::chrono::seconds(options.seconds));
  std::uint64_t done = 0;
  while (done < options.inputs || !end.passed(clock.now())) {
    run_one(mutator.next());
    ++done;
  }
  ::alarm(0);
  const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
  std::printf("%s: %zu stored inputs, %llu mutated ones from seed %llu in %.1f s, %.0f a second\n",
              name.c_str(), corpus.size(), static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(options.seed), seconds,
              done > 0 ? static_cast<double>(done) / seconds : 0);
  return 0;
}

}  // namespace
}  // namespace paceline::fuzz

int main(int argc, char** argv) {
  return paceline::fuzz::run(paceline::fuzz::parse(argc, argv), argv[0]);
}
