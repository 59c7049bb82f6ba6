#include "launcher/web/web_service.h"

#include <algorithm>
#include <utility>

#include "comm/base/try.h"
#include "comm/socket.h"

namespace paceline::launcher {
namespace {

// Snapshots of very large jobs become rarer: they cost at most 2 % of the loop's time.
constexpr int kTimesPause = 50;

}  // namespace

Result<std::unique_ptr<WebService>> WebService::start(EventLoop& loop, Options options) {
  std::unique_ptr<WebService> service(new WebService(loop, std::move(options)));
  PACELINE_TRY(service->serve());
  service->publish();
  return service;
}

WebService::~WebService() {
  if (publishing_) loop_.cancel(*publishing_);
}

Result<WebSite> WebService::open(const char* option, const std::string& text, const char* what,
                                 const char* path) {
  const auto in_option = [&](const Status& why) {
    return Status(why.code(), Scope::kProcess,
                  std::string(option) + " " + text + ": " + why.text());
  };
  const Result<SocketAddress> wanted = SocketAddress::parse(text);
  if (!wanted.ok()) return in_option(wanted.status());
  Result<UniqueFd> listening = listen_on(*wanted);
  if (!listening.ok()) return in_option(listening.status());
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(listening->get()));
  addresses_.push_back(std::string(what) + ": http://" + bound.to_string() + path);
  return WebSite{.listening = *std::move(listening), .is_local = bound.is_loopback()};
}

Status WebService::serve() {
  PACELINE_TRY_ASSIGN(const WebModule* module, load_web_module());
  std::vector<WebSite> sites;
  if (!options_.metrics.empty()) {
    PACELINE_TRY_ASSIGN(WebSite site, open("--metrics", options_.metrics, "metrics", "/metrics"));
    site.has_metrics = true;
    sites.push_back(std::move(site));
  }
  if (!options_.dashboard.empty() && options_.dashboard == options_.metrics) {
    PACELINE_TRY_ASSIGN(const SocketAddress bound,
                        SocketAddress::of_local_end(sites.front().listening.get()));
    addresses_.push_back("dashboard: http://" + bound.to_string() + "/");
    sites.front().has_dashboard = true;
  } else if (!options_.dashboard.empty()) {
    PACELINE_TRY_ASSIGN(WebSite site, open("--dashboard", options_.dashboard, "dashboard", "/"));
    site.has_dashboard = true;
    sites.push_back(std::move(site));
  }
  PACELINE_TRY_ASSIGN(server_, module->serve(std::move(sites)));
  return {};
}

void WebService::saw(TimePoint, const JobEvent&, const JobState& state) {
  if (!state.finished || std::exchange(ended_, true)) return;
  if (publishing_) loop_.cancel(*std::exchange(publishing_, {}));
  server_->publish(options_.snapshot().SerializeAsString());
}

void WebService::publish() {
  const TimePoint begin = loop_.clock().now();
  server_->publish(options_.snapshot().SerializeAsString());
  const Duration took = loop_.clock().now() - begin;
  publishing_ = loop_.after(std::max(kPeriod, kTimesPause * took), [this] { publish(); });
}

}  // namespace paceline::launcher
