// Writes the seeds of the fuzzers' corpora: good inputs, and some that are wrong in one place.
// Built as fuzz_make_corpus; run it by hand after a format has changed:
//
//   fuzz_make_corpus tests/fuzz/corpus
//
// It overwrites what it wrote before, under the same names, and leaves other files alone: findings.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "comm/account.h"
#include "comm/handshake.h"
#include "comm/store_wire.h"
#include "comm/wire.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/known_key.h"

namespace paceline::fuzz {
namespace {

namespace fs = std::filesystem;

void store(const fs::path& path, ByteView bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << to_text(bytes);
  std::printf("%5zu bytes  %s\n", bytes.size(), path.c_str());
}

Bytes script(std::initializer_list<int> numbers) {
  Bytes bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

Bytes after(int first, ByteView rest) { return joined(script({first}), rest); }

constexpr Signature kSignature{.sequence = 12,
                               .count = 1000,
                               .root = 3,
                               .kind = OperationKind::kAllReduce,
                               .type = DataType::kInt64,
                               .op = ReduceOp::kMax,
                               .plan = 77,
                               .history = 0x0123456789ABCDEF};

void write_framing(const fs::path& folder) {
  const MessageHeader header{.signature = kSignature, .payload_bytes = 8000};
  store(folder / "header_data", encode_header(header));
  store(folder / "header_goodbye", encode_header({.kind = MessageKind::kGoodbye}));
  store(folder / "header_longest", encode_header({.payload_bytes = kMaxPayloadBytes}));
  HeaderBytes cut_magic = encode_header(header);
  cut_magic[3] = std::byte{0};
  store(folder / "header_of_another_version", cut_magic);
  const Culprit culprit{
      .rank = 3, .host = "node7", .operation = kSignature.to_string(), .sequence = 12};
  store(folder / "notice",
        encode_notice(Status(Code::kPeerLost, Scope::kGroup, "has gone", culprit)));
  store(folder / "notice_of_few_words", encode_notice(Status(Code::kCancelled, Scope::kNone, "")));
  store(folder / "account",
        encode_account(
            {.begun = 13, .running = true, .recent = {kSignature, {}}, .awaited = {1, -1, 70000}}));
  store(folder / "account_of_nothing", encode_account({}));
}

void write_hello(const fs::path& folder) {
  const JobKey key = make_known_key();
  const Hello hello{.purpose = Purpose::kStore, .epoch = 1, .from = 2, .to = 3, .group = 4};
  AcceptorHandshake acceptor(key, {});
  DialerHandshake dialer(key, hello, {});
  const Bytes said = dialer.answer(acceptor.challenge()).value();
  (void)acceptor.read_hello(said);
  const auto accepted = acceptor.welcome(Verdict::kAccepted);
  const ByteView unproven = ByteView(said).first(kHelloBytes - sizeof(Mac));
  store(folder / "hello", after(0, said));
  store(folder / "hello_without_its_end", after(0, ByteView(said).first(kHelloBytes - 1)));
  store(folder / "hello_to_be_proven", after(1, unproven));
  Bytes odd(unproven.begin(), unproven.end());
  odd[24] = std::byte{9};
  store(folder / "hello_of_unknown_purpose", after(1, odd));
  store(folder / "challenge", after(2, acceptor.challenge()));
  Bytes other(acceptor.challenge().begin(), acceptor.challenge().end());
  other[4] = std::byte{2};
  store(folder / "challenge_of_another_version", after(2, other));
  store(folder / "welcome", after(3, accepted));
  store(folder / "welcome_to_be_proven", after(4, ByteView(accepted).first(8)));
  store(folder / "welcome_of_unknown_verdict", after(4, script({2, 0, 0, 0, 0, 0, 0, 0})));
}

// See the script in store_requests.cc: 0 admits, 1 forgets, 2 sends bytes, 4 reads, 5 requests.
void write_store(const fs::path& folder) {
  store(folder / "set_and_get", script({0, 5, 0x10, 1, 3, 5, 0x11, 2, 4, 255}));
  store(folder / "get_that_waits", script({0, 0, 5, 0x11, 1, 13, 0x10, 2, 9, 4, 255}));
  store(folder / "waiting_client_leaves", script({0, 0, 5, 0x11, 1, 1, 5, 0x10, 2, 9}));
  store(folder / "live_keys", script({0, 5, 0x13, 1, 5, 0x12, 2, 7, 4, 40}));
  store(folder / "full_store", script({0, 5, 0x10, 1, 255, 5, 0x20, 2, 255, 5, 0x30, 3, 255}));
  Bytes entries = script({0});
  for (int key = 0; key < 8; ++key) entries = joined(entries, script({5, 16 * key, key, 0}));
  store(folder / "too_many_entries", entries);
  store(folder / "too_many_waiting",
        script({0, 5, 0x11, 1, 5, 0x21, 2, 5, 0x31, 3, 5, 0x41, 4, 5, 0x51, 5}));
  store(folder / "cut_request", script({0, 5, 0x1C, 1, 20, 9, 5, 0x11, 2}));
  Bytes unread = script({0, 5, 0x10, 1, 255});
  for (int id = 0; id < 10; ++id) unread = joined(unread, script({5, 0x11, id}));
  store(folder / "unread_answers", unread);
  Bytes frame;
  append_frame({.kind = StoreFrameKind::kSet, .id = 7, .key = "raw", .value = "bytes"}, frame);
  const int size = static_cast<int>(frame.size());
  store(folder / "raw_set", joined(script({0, 2, size}), frame));
  frame[4] = static_cast<std::byte>(StoreFrameKind::kDone);
  store(folder / "raw_answer", joined(script({0, 2, size}), frame));
  store(folder / "raw_gigabyte", script({0, 2, 8, 0, 0, 0, 0x40, 0, 0, 0, 0}));
}

// See the script in ring.cc: 0 writes, 3 reads, 6 scribbles, 7 moves a count.
void write_ring(const fs::path& folder) {
  store(folder / "round_the_end", script({0, 40, 3, 40, 0, 60, 3, 30, 3, 60}));
  store(folder / "full_and_empty", script({0, 200, 0, 1, 3, 200, 3, 1, 0, 64, 3, 63, 0, 9}));
  store(folder / "tail_too_far", script({0, 10, 7, 0, 255, 3, 100, 0, 5}));
  store(folder / "tail_goes_back", script({0, 10, 3, 4, 7, 0, 120, 3, 100}));
  store(folder / "head_beyond_tail", script({0, 64, 7, 1, 255, 0, 100, 3, 10}));
  store(folder / "noise_for_counts",
        script({0, 30, 6, 0, 8, 255, 255, 255, 255, 255, 255, 255, 255, 3, 99, 0, 99}));
}

// See the script in inbox.cc: 0 posts, 2 sends data, 10 control, 4 noise, 6 aborts, 7 reads.
void write_inbox(const fs::path& folder) {
  store(folder / "receive_first", script({0, 8, 2, 8, 0, 7}));
  store(folder / "message_first", script({2, 8, 0, 7, 0, 8}));
  store(folder / "message_in_two_parts", script({0, 100, 2, 100, 61, 7}));
  store(folder / "header_in_two_parts", script({0, 4, 2, 4, 13, 7}));
  store(folder / "other_length", script({0, 8, 2, 9, 49, 0, 3, 2, 3, 0, 7}));
  store(folder / "empty_messages", script({2, 0, 0, 0, 0, 7, 0, 0, 2, 0, 0, 7}));
  store(folder / "controls_between",
        script({2, 5, 0, 10, 9, 0, 26, 0, 0, 2, 6, 0, 7, 5, 0, 5, 0, 6}));
  store(folder / "abort_in_the_middle", script({0, 200, 2, 200, 99, 6, 7, 0, 1, 2, 1, 0, 7}));
  store(folder / "noise", script({0, 8, 4, 5, 'n', 'o', 'i', 's', 'e', 7}));
  const HeaderBytes huge = encode_header({.payload_bytes = std::uint64_t{1} << 30});
  store(folder / "gigabyte_without_a_receive",
        joined(script({4, 48}), joined(huge, script({7, 0, 9}))));
}

// See the script in frames.cc: 1 a frame of a kind and a body, 3 receives, 4 sends, 5 writes, 6
// reports, 7 aborts, 135 leaves; 16 more for each group.
void write_frames(const fs::path& folder) {
  const HeaderBytes header = encode_header({.signature = kSignature, .payload_bytes = 4});
  const auto piece = [](int group, ByteView body) {
    return joined(script({1 + 16 * group, 0, static_cast<int>(body.size())}), body);
  };
  const Bytes message = joined(header, script({1, 2, 3, 4}));
  store(folder / "receive_first", joined(script({1, 1, 0, 3, 4}), piece(0, message)));
  store(folder / "message_first", joined(piece(1, message), script({19, 4, 22})));
  store(folder / "piece_of_a_message",
        joined(script({3, 4}), joined(piece(0, ByteView(message).first(50)),
                                      piece(0, ByteView(message).subspan(50)))));
  store(folder / "groups_between",
        joined(piece(0, ByteView(message).first(20)),
               joined(piece(1, message), piece(0, ByteView(message).subspan(20)))));
  store(folder / "unknown_group", joined(script({49, 1, 0, 5, 9}), piece(3, message)));
  store(folder / "sends_and_credit", script({4, 200, 5, 3, 1, 2, 9, 0, 5, 99, 5, 99}));
  store(folder / "leaves_while_it_sends", script({4, 200, 5, 2, 135, 5, 99}));
  store(folder / "is_left", script({3, 8, 4, 8, 1, 3, 0, 3, 8}));
  store(folder / "noise", script({0, 5, 'n', 'o', 'i', 's', 'e'}));
}

Bytes text(std::string_view words) {
  const ByteView view = std::as_bytes(std::span(words));
  return Bytes(view.begin(), view.end());
}

void write_hostfile(const fs::path& folder) {
  store(folder / "every_form", text("a\nb slots=4\nc:2 # two\n\n10.0.0.7:65536\n"));
  store(folder / "other_line_ends", text("# hosts\r\n\r\n  node-1.example.org\tslots=1\r\nb"));
  store(folder / "a_list", text("a:4,b,localhost:1"));
  store(folder / "names_no_host", text("# none\n\n"));
  store(folder / "slots_twice", text("a:4 slots=4\n"));
  store(folder / "slots_of_no_number", text("a\nb slots=x\nc:0\n"));
  store(folder / "slots_beyond_the_bound", text("a:65537\nb slots=99999999999999999999\n"));
  store(folder / "another_word", text("a max_slots=4\n"));
  store(folder / "no_name", text("user@a\n:4\nnode[1-4]\n"));
}

// A word of the command line each.
Bytes words(std::initializer_list<std::string_view> all) {
  std::string joined_words;
  for (const std::string_view word : all) joined_words.append(word).push_back('\0');
  return text(joined_words);
}

void write_arguments(const fs::path& folder) {
  store(folder / "program_alone", words({"./train", "--epochs", "3"}));
  store(folder / "ranks", words({"-np", "4", "-n8", "--np=2", "--", "prog"}));
  store(folder / "values", words({"-x", "A=[b,c]", "-xHOME", "--wdir", "/tmp", "--timeout", "0.25",
                                  "-grace=1e1", "--no-tag-output", "prog"}));
  store(folder / "output", words({"-n", "8", "--output-dir", "logs/%j", "--console-ranks", "0,4-7",
                                  "--stdin", "none", "--tag-output", "prog"}));
  store(folder / "programs",
        words({"-n", "2", "a", ":", "-n", "1", "-x", "V=1", "--", "b", ":", "--wdir", "d", "c"}));
  store(folder / "hosts", words({"-H", "a:4,b", "-host", "c", "prog"}));
  store(folder / "hostfile", words({"--hostfile", "hosts", "prog"}));
  store(folder / "help", words({"-n", "2", "-h"}));
  store(folder / "no_program", words({"-n", "2", "--"}));
  store(folder / "missing_program", words({"a", ":", ":", "b"}));
  store(folder / "option_of_the_job", words({"a", ":", "--timeout", "3", "b"}));
  store(folder / "too_many_ranks", words({"-n", "65536", "a", ":", "b"}));
  store(folder / "rank_that_is_not_there", words({"-n", "2", "--stdin", "9", "prog"}));
  store(folder / "unknown_option", words({"--tagoutput", "-hostfle", "prog"}));
  store(folder / "value_missing", words({"--output-dir", "--tag-output", "prog"}));
}

}  // namespace
}  // namespace paceline::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 1;
  }
  const std::filesystem::path folder = argv[1];
  paceline::fuzz::write_framing(folder / "framing");
  paceline::fuzz::write_hello(folder / "hello");
  paceline::fuzz::write_store(folder / "store_requests");
  paceline::fuzz::write_inbox(folder / "inbox");
  paceline::fuzz::write_frames(folder / "frames");
  paceline::fuzz::write_ring(folder / "ring");
  paceline::fuzz::write_hostfile(folder / "hostfile");
  paceline::fuzz::write_arguments(folder / "arguments");
  return 0;
}
