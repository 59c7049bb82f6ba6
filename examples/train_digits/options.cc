#include "examples/train_digits/options.h"

#include <charconv>
#include <string_view>
#include <system_error>

namespace digits {
namespace {

using paceline::Code;
using paceline::Result;
using paceline::Scope;
using paceline::Status;

template <auto Field, auto Low, auto High>
bool parse_number(std::string_view text, Options& into) {
  auto value = into.*Field;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (!(value >= Low && value <= High)) return false;  // NaN fails both comparisons
  into.*Field = value;
  return true;
}

template <auto Field>
std::string show_number(const Options& options) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, options.*Field);
  return std::string(text, end);
}

template <std::string Options::*Field>
bool parse_path(std::string_view text, Options& into) {
  into.*Field = text;
  return !text.empty();
}

template <std::string Options::*Field>
std::string show_path(const Options& options) {
  return (options.*Field).empty() ? "none" : options.*Field;
}

bool parse_codec(std::string_view text, Options& into) {
  const auto codec = paceline::parse_codec(text);
  into.codec = codec.value_or(into.codec);
  return codec.has_value();
}

std::string show_codec(const Options& options) { return std::string(name(options.codec)); }

struct Row {
  std::string_view name;
  std::string_view value;  ///< placeholder of the value in the help
  std::string_view form;
  std::string_view meaning;  ///< further lines include their indentation
  bool (*parse)(std::string_view text, Options& into);
  std::string (*show)(const Options& options);
};

constexpr Row kRows[] = {
    {"--data", "FILE", "a path",
     "lines of 64 pixels 0..16 and a label 0..9, separated by commas, plain or gzip",
     parse_path<&Options::data>, show_path<&Options::data>},
    {"--epochs", "N", "a whole number 1..100000", "number of passes over the training images",
     parse_number<&Options::epochs, 1u, 100'000u>, show_number<&Options::epochs>},
    {"--batch", "N", "a whole number 1..1000000",
     "images per step, divided among all ranks. A larger batch means more compute per\n"
     "      message, so it scales better. It also means fewer steps per epoch: raise\n"
     "      --epochs or --rate, too",
     parse_number<&Options::batch, 1u, 1'000'000u>, show_number<&Options::batch>},
    {"--hidden", "N", "a whole number 1..16384",
     "units of the hidden layer; compute and message sizes grow with it",
     parse_number<&Options::hidden, 1u, 16'384u>, show_number<&Options::hidden>},
    {"--rate", "R", "a number from 0 to 100",
     "learning rate: too low learns slowly, too high makes the loss jump or overflow",
     parse_number<&Options::rate, 0, 100>, show_number<&Options::rate>},
    {"--momentum", "M", "a number from 0 to 1",
     "share of the last update that is added to the next", parse_number<&Options::momentum, 0, 1>,
     show_number<&Options::momentum>},
    {"--seed", "N", "a whole number 0..4294967295",
     "seed of the held-out fifth, the initial parameters and the order of images",
     parse_number<&Options::seed, 0u, 4'294'967'295u>, show_number<&Options::seed>},
    {"--codec", "NAME", "none, bf16, fp16, int8, topk, powersgd or auto",
     "compression of gradients, to send fewer bytes. auto: the fastest codec by\n"
     "      measurement, or none. topk sends most of a gradient in later steps, and\n"
     "      needs --momentum 0 for that",
     parse_codec, show_codec},
    {"--curve", "FILE", "a path",
     "file in which rank 0 writes one line \"step loss\" per step. Runs with the same\n"
     "      batch and seed agree for any number of ranks",
     parse_path<&Options::curve>, show_path<&Options::curve>},
    {"--target", "PERCENT", "a number from 0 to 100",
     "exit with 1 unless the held-out accuracy reaches it", parse_number<&Options::target, 0, 100>,
     show_number<&Options::target>},
};

const Row* find_row(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Options defaults() {
  Options options;
  options.data = PACELINE_EXAMPLE_DATA;
  return options;
}

Status wrong(std::string text) {
  return Status(Code::kInvalidArgument, Scope::kProcess, std::move(text));
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options = defaults();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    const Row* row = find_row(name);
    if (row == nullptr) return wrong("unknown option " + name + "; --help lists what there is");
    if (equals == std::string_view::npos && i + 1 == arguments.size()) {
      return wrong(name + " needs " + std::string(row->form));
    }
    const std::string_view value =
        equals == std::string_view::npos ? arguments[++i] : argument.substr(equals + 1);
    if (row->parse(value, options)) continue;
    return wrong(name + " needs " + std::string(row->form) + ", not \"" + std::string(value) +
                 "\"");
  }
  return options;
}

std::string help_text() {
  std::string text =
      "Trains a classifier of handwritten digits, data-parallel. Every rank computes the\n"
      "gradients of its share of each batch. They are summed over all ranks while backward\n"
      "still computes others. All ranks make the same update.\n\n"
      "  train_digits                                one rank\n"
      "  paceline run -n 2 -- train_digits           two ranks on this machine\n"
      "  paceline run -n 4 -- train_digits --batch 480 --rate 0.2 --epochs 150\n\n"
      "Options:\n";
  for (const Row& row : kRows) {
    text += "  " + std::string(row.name) + " " + std::string(row.value) + "\n      " +
            std::string(row.meaning) + "\n      (default: " + row.show(defaults()) + ")\n";
  }
  return text +
         "  --help\n      this text\n\n"
         "Exit codes: 0 success, 1 failure or --target missed, 2 wrong options.\n";
}

}  // namespace digits
