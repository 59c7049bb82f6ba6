// The module's end of web_module.h: HTTP/1.1 on Boost.Beast. One thread; all of its state belongs
// to it.
//
//   GET /metrics   metrics.h
//   GET /          the dashboard's page, which needs nothing from elsewhere
//   GET /events    its server-sent events (HTML standard, section 9.2): page_json.h
//
// A viewer that reads slowly gets the newest message when it has read the one before. Whoever sends
// no request, or reads nothing, is closed after kPatience.
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <signal.h>

#include "launcher/proto/job_v1.pb.h"
#include "launcher/web/job_history.h"
#include "launcher/web/metrics.h"
#include "launcher/web/page_json.h"
#include "launcher/web/web_module.h"

namespace paceline::launcher {

extern const std::string_view kDashboardPage;

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr std::uint32_t kMaxHeaderBytes = 16 * 1024;
constexpr auto kPause = std::chrono::milliseconds(100);  // if there are no descriptors left

// The page runs its own script and styles, and talks to nobody else.
constexpr std::array kPolicy{"default-src 'none'",        "script-src 'unsafe-inline'",
                             "style-src 'unsafe-inline'", "connect-src 'self'",
                             "base-uri 'none'",           "form-action 'none'",
                             "frame-ancestors 'none'"};

std::string policy() {
  std::string text;
  for (const char* const rule : kPolicy) text.append(rule).append(";");
  return text;
}

asio::redirect_error_t<asio::use_awaitable_t<>> into(Error& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

// "127.0.0.1:9400", "[::1]:9400", "localhost:9400"
bool names_an_address(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos)
    host = host.substr(0, colon);
  if (host == "localhost") return true;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Error error;
  (void)asio::ip::make_address(std::string(host), error);
  return !error;
}

/// What the thread's connections show.
class Pages {
 public:
  explicit Pages(asio::io_context& io) : news_(io) { news_.expires_at(kNever); }

  void publish(const std::string& bytes) {
    job::v1::Snapshot snapshot;
    if (!snapshot.ParseFromString(bytes)) return;
    history_.take(snapshot);
    snapshot_ = std::move(snapshot);
    metrics_.clear();
    first_.reset();
    message_.reset();
    ++version_;
    news_.expires_at(kNever);  // wakes the viewers
  }
  void end() {
    has_ended_ = true;
    news_.expires_at(kNever);
  }
  bool has_ended() const { return has_ended_; }
  std::uint64_t version() const { return version_; }
  /// Returns when there is another version, or the end.
  asio::awaitable<void> wait_for_news(std::uint64_t known) {
    Error cancelled;
    while (version_ == known && !has_ended_) co_await news_.async_wait(into(cancelled));
  }

  const std::string& metrics() {
    if (metrics_.empty()) metrics_ = metrics_text(snapshot_);
    return metrics_;
  }
  // All viewers share these.
  const std::shared_ptr<const std::string>& first() {
    if (!first_)
      first_ = std::make_shared<std::string>(
          "retry: 2000\n\nevent: first\ndata: " + first_message(snapshot_, history_) + "\n\n");
    return first_;
  }
  const std::shared_ptr<const std::string>& message() {
    if (!message_)
      message_ =
          std::make_shared<std::string>("data: " + next_message(snapshot_, history_) + "\n\n");
    return message_;
  }

 private:
  static constexpr auto kNever = asio::steady_timer::time_point::max();
  job::v1::Snapshot snapshot_;
  JobHistory history_;
  // Of the version; made when somebody asks.
  std::string metrics_;
  std::shared_ptr<const std::string> first_, message_;
  std::uint64_t version_ = 0;
  bool has_ended_ = false;
  asio::steady_timer news_;
};

class Server final : public WebServer {
 public:
  explicit Server(std::vector<WebSite> sites) : pages_(io_) {
    for (WebSite& site : sites) {
      const int fd = site.listening.release();
      sockaddr_storage bound{};
      socklen_t size = sizeof bound;
      (void)::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
      const auto protocol = bound.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
      sites_.push_back(std::make_unique<Site>(
          Site{asio::ip::tcp::acceptor(io_, protocol, fd), std::move(site)}));
      asio::co_spawn(io_, accept(*sites_.back()), asio::detached);
    }
    // Signals are the loop's.
    sigset_t all{}, before{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { io_.run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Server() override {
    asio::post(io_, [this] {
      for (const auto& site : sites_) site->acceptor.close();
      pages_.end();
      for (beast::tcp_stream* const stream : idle_) stream->cancel();
      farewell_.expires_after(kFarewell);
      farewell_.async_wait([this](Error) { io_.stop(); });
      end_without_viewers();
    });
    thread_.join();
  }

  void publish(std::string snapshot) override {
    asio::post(io_, [this, snapshot = std::move(snapshot)] { pages_.publish(snapshot); });
  }

 private:
  struct Site {
    asio::ip::tcp::acceptor acceptor;
    WebSite site;
  };

  asio::awaitable<void> accept(Site& site) {
    asio::steady_timer pause(io_);
    while (site.acceptor.is_open()) {
      Error error;
      asio::ip::tcp::socket socket = co_await site.acceptor.async_accept(into(error));
      if (error) {
        pause.expires_after(kPause);
        co_await pause.async_wait(into(error));
      } else if (connections_ < kMaxConnections) {
        ++connections_;
        asio::co_spawn(io_, serve(site.site, beast::tcp_stream(std::move(socket))),
                       [this](std::exception_ptr) {
                         --connections_;
                         end_without_viewers();
                       });
      }
    }
  }

  void end_without_viewers() {
    if (pages_.has_ended() && connections_ == 0) io_.stop();
  }

  asio::awaitable<void> serve(const WebSite& site, beast::tcp_stream stream) {
    beast::flat_buffer buffer;
    bool goes_on = true;
    while (goes_on && !pages_.has_ended()) {
      http::request_parser<http::empty_body> parser;
      parser.header_limit(kMaxHeaderBytes);
      Error error;
      stream.expires_after(kPatience);
      idle_.insert(&stream);
      co_await http::async_read(stream, buffer, parser, into(error));
      idle_.erase(&stream);
      if (error) co_return;
      const Request& request = parser.get();
      if (site.has_dashboard && request.method() == http::verb::get &&
          request.target() == "/events" && may_read(site, request)) {
        if (viewers_ < kMaxViewers) {
          ++viewers_;
          co_await stream_events(stream);
          --viewers_;
          co_return;
        }
      }
      Response response = answer(site, request);
      response.version(request.version());
      response.keep_alive(request.keep_alive());
      response.set(http::field::server, "paceline");
      response.set(http::field::cache_control, "no-store");
      response.set("X-Content-Type-Options", "nosniff");
      response.prepare_payload();
      if (request.method() == http::verb::head) response.body().clear();
      stream.expires_after(kPatience);
      co_await http::async_write(stream, response, into(error));
      goes_on = !error && response.keep_alive();
    }
  }

  // A page of another site that a browser shows must not read these by giving its own name this
  // host's loopback address. Requests from other hosts may use any name of this one.
  static bool may_read(const WebSite& site, const Request& request) {
    const auto host = request[http::field::host];
    return !site.is_local || names_an_address({host.data(), host.size()});
  }

  Response answer(const WebSite& site, const Request& request) {
    const auto said = [](http::status status, std::string text) {
      Response response(status, 11);
      response.set(http::field::content_type, "text/plain; charset=utf-8");
      response.body() = std::move(text);
      return response;
    };
    if (!may_read(site, request))
      return said(http::status::misdirected_request,
                  "Use the address of this page, not a name: http://127.0.0.1:PORT\n");
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      Response refused = said(http::status::method_not_allowed, "These pages can only be read.\n");
      refused.set(http::field::allow, "GET, HEAD");
      return refused;
    }
    if (site.has_dashboard && request.target() == "/events")
      return said(http::status::service_unavailable, "There are too many viewers.\n");
    if (site.has_metrics && request.target() == "/metrics") {
      Response response = said(http::status::ok, pages_.metrics());
      response.set(http::field::content_type, "text/plain;version=0.0.4");
      return response;
    }
    if (site.has_dashboard && request.target() == "/") {
      Response response = said(http::status::ok, std::string(kDashboardPage));
      response.set(http::field::content_type, "text/html; charset=utf-8");
      response.set("Content-Security-Policy", policy());
      return response;
    }
    return said(http::status::not_found, std::string("There is ") +
                                             (site.has_metrics ? "/metrics " : "") +
                                             (site.has_dashboard ? "/ " : "") + "here.\n");
  }

  asio::awaitable<void> stream_events(beast::tcp_stream& stream) {
    Error error;
    std::uint64_t version = pages_.version();
    constexpr std::string_view kHead =
        "HTTP/1.1 200 OK\r\nServer: paceline\r\nContent-Type: text/event-stream\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n";
    std::shared_ptr<const std::string> text = pages_.first();
    stream.expires_after(kPatience);
    co_await asio::async_write(stream, asio::buffer(kHead), into(error));
    while (!error) {
      stream.expires_after(kPatience);
      co_await asio::async_write(stream, asio::buffer(*text), into(error));
      if (error || (pages_.has_ended() && version == pages_.version())) break;
      stream.expires_never();
      co_await pages_.wait_for_news(version);
      if (version == pages_.version()) break;
      version = pages_.version();
      text = pages_.message();
    }
    stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  }

  asio::io_context io_{1};
  Pages pages_;
  asio::steady_timer farewell_{io_};
  std::vector<std::unique_ptr<Site>> sites_;
  std::size_t connections_ = 0;
  std::size_t viewers_ = 0;            // connections of /events
  std::set<beast::tcp_stream*> idle_;  // connections that wait for a request
  std::thread thread_;
};

// Boost and the thread report a lack of descriptors or memory as exceptions.
Result<std::unique_ptr<WebServer>> serve(std::vector<WebSite> sites) {
  try {
    return std::unique_ptr<WebServer>(std::make_unique<Server>(std::move(sites)));
  } catch (const std::exception& error) {
    return Status(Code::kUnavailable, Scope::kProcess,
                  std::string("the pages of the job cannot be served: ") + error.what());
  }
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const WebModule paceline_web_module{.serve = serve};

}  // namespace paceline::launcher
