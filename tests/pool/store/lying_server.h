// An HTTP server that has S3 objects and WebHDFS files, and lies about them as a seed decides:
// statuses, ranges, lengths, versions, bodies that end early, files that change.
//
// A lie that gives other bytes always shows it somewhere: a server that sends other bytes under the
// right range, length and version cannot be told from a true one.
#pragma once

#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "core/prng.h"
#include "tests/pool/store/http_stub.h"

namespace tributary::pool {

class LyingServer {
 public:
  using Objects = std::map<std::string, std::string>;

  explicit LyingServer(Objects objects)
      : truth_(std::move(objects)),
        stub_([this](const std::string& head) { return answer(head); }) {}

  // Forgets all changes. `percent` of the requests from now on are lied to.
  void restart(std::uint64_t seed, std::uint32_t percent) {
    const std::lock_guard lock(mutex_);
    prng_ = Prng(seed);
    percent_ = percent;
    changed_.clear();
  }
  [[nodiscard]] std::string url() const { return stub_.url(); }
  [[nodiscard]] std::string authority() const { return stub_.authority(); }
  std::uint64_t lies() {
    const std::lock_guard lock(mutex_);
    return lies_;
  }

  static constexpr int kTime = 1000;  // of files that did not change

 private:
  struct Asked {
    std::string name;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  std::string answer(const std::string& head) {
    const std::lock_guard lock(mutex_);
    const std::string target = head.substr(4, head.find(' ', 4) - 4);
    const bool lie = prng_.below(100) < percent_;
    lies_ += lie ? 1 : 0;
    if (target.starts_with("/b/")) {
      const std::size_t range = head.find("Range: bytes=") + 13;
      const std::size_t first = std::stoul(head.substr(range));
      const std::size_t last = std::stoul(head.substr(head.find('-', range) + 1));
      return object({target.substr(3), first, last - first + 1}, lie);
    }
    const std::string name =
        target.substr(target.rfind('/') + 1, target.find('?') - target.rfind('/') - 1);
    if (target.find("op=GETFILESTATUS") != std::string::npos) return status(name, lie);
    const Asked asked{name, number(target, "offset="), number(target, "length=")};
    return target.find("op=OPEN") != std::string::npos ? redirect(asked, lie) : file(asked, lie);
  }

  static std::size_t number(const std::string& target, const std::string& key) {
    const std::size_t at = target.find(key);
    return at == std::string::npos ? 0 : std::stoul(target.substr(at + key.size()));
  }
  static std::string range_header(const Asked& asked, std::size_t total) {
    return "Content-Range: bytes " + std::to_string(asked.offset) + "-" +
           std::to_string(asked.offset + asked.bytes - 1) + "/" + std::to_string(total) + "\r\n";
  }
  // The object as it is now: other bytes in a changed one.
  std::string data(const std::string& name) {
    std::string out = truth_.at(name);
    if (changed_.contains(name))
      for (char& c : out) c = static_cast<char>(c ^ 0x55);
    return out;
  }
  std::string part(const Asked& asked) {
    const std::string all = data(asked.name);
    return asked.offset > all.size() ? "" : all.substr(asked.offset, asked.bytes);
  }
  // Another place in the object, if there is one.
  Asked elsewhere(const Asked& asked) {
    const std::size_t total = truth_.at(asked.name).size();
    Asked other = asked;
    if (asked.bytes == total) {
      other.bytes = total - 1 - prng_.below(100);
      other.offset = prng_.below(2) * (total - other.bytes);
      return other;
    }
    while (other.offset == asked.offset)
      other.offset = prng_.below(static_cast<std::uint32_t>(total - asked.bytes + 1));
    return other;
  }
  static std::string early_end(const std::string& head, const std::string& body) {
    return head + "Content-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n\r\n" + body.substr(0, body.size() / 2);
  }
  std::string wrong_status() {
    static constexpr int kStatuses[] = {201, 203, 204, 301, 304, 400, 401,
                                        403, 404, 410, 416, 429, 500, 503};
    return HttpStub::answer(kStatuses[prng_.below(std::size(kStatuses))], "");
  }

  std::string object(const Asked& asked, bool lie) {
    const std::size_t total = truth_.at(asked.name).size();
    const auto etag = [&] {
      return "ETag: \"" + std::string(changed_.contains(asked.name) ? "new" : "old") + "\"\r\n";
    };
    const std::string right = range_header(asked, total);
    if (!lie) return HttpStub::answer(206, part(asked), right + etag());
    const Asked other = elsewhere(asked);
    switch (prng_.below(12)) {
      case 0: return wrong_status();
      case 1: return HttpStub::answer(206, part(other), range_header(other, total) + etag());
      case 2: return HttpStub::answer(200, part(other), range_header(other, total) + etag());
      case 3: return HttpStub::answer(asked.bytes == total ? 206 : 200, part(other), etag());
      case 4: return HttpStub::answer(206, part(other), etag());
      case 5: return HttpStub::answer(200, data(asked.name), etag());
      case 6:
        return HttpStub::answer(206, part(other), right + range_header(other, total) + etag());
      case 7: return HttpStub::answer(206, part(asked), range_header(asked, total + 1) + etag());
      case 8: return early_end("HTTP/1.1 206 X\r\n" + right + etag(), part(asked));
      case 9: return HttpStub::answer(206, part(asked).substr(1), right + etag());
      case 10:
        changed_[asked.name] = true;
        return HttpStub::answer(206, part(asked), right + etag());
      default: changed_[asked.name] = true; return HttpStub::answer(206, part(asked), right);
    }
  }

  std::string status(const std::string& name, bool lie) {
    const auto text = [&](std::size_t bytes, int time) {
      return R"({"FileStatus":{"type":"FILE","pathSuffix":"","length":)" + std::to_string(bytes) +
             R"(,"modificationTime":)" + std::to_string(time) + "}}";
    };
    const std::size_t total = truth_.at(name).size();
    const std::string now = text(total, changed_.contains(name) ? kTime + 1 : kTime);
    if (!lie) return HttpStub::answer(200, now);
    switch (prng_.below(6)) {
      case 0: return wrong_status();
      case 1: return HttpStub::answer(200, text(total + 1, kTime));
      case 2: return HttpStub::answer(200, now.substr(0, now.size() / 2));
      case 3: return HttpStub::answer(206, now, "Content-Range: bytes 0-9/10\r\n");
      case 4: return early_end("HTTP/1.1 200 X\r\n", now);
      default: return HttpStub::answer(200, "{}");
    }
  }

  std::string redirect(const Asked& asked, bool lie) {
    const auto to = [&](const Asked& there, const std::string& query) {
      return HttpStub::answer(307, "", "Location: /data/" + there.name + query + "\r\n");
    };
    const auto query = [](const Asked& there) {
      return "?offset=" + std::to_string(there.offset) + "&length=" + std::to_string(there.bytes);
    };
    if (!lie) return to(asked, query(asked));
    switch (prng_.below(5)) {
      case 0: return wrong_status();
      case 1: return to(asked, query(elsewhere(asked)));
      case 2: return to(asked, "");
      case 3: return to(asked, query({"", asked.offset, asked.bytes - 1}));
      default: changed_[asked.name] = true; return to(asked, query(asked));
    }
  }

  std::string file(const Asked& asked, bool lie) {
    const std::size_t total = truth_.at(asked.name).size();
    if (asked.bytes == 0) return HttpStub::answer(200, data(asked.name));
    if (!lie) return HttpStub::answer(200, part(asked));
    const Asked other = elsewhere(asked);
    switch (prng_.below(8)) {
      case 0: return wrong_status();
      case 1: return HttpStub::answer(206, part(other), range_header(other, total));
      case 2: return HttpStub::answer(200, part(other), range_header(other, total));
      case 3: return HttpStub::answer(206, part(other));
      case 4: return early_end("HTTP/1.1 200 X\r\n", part(asked));
      case 5: return HttpStub::answer(200, part(asked).substr(1));
      case 6: return HttpStub::answer(200, part(asked) + "x");
      default: changed_[asked.name] = true; return HttpStub::answer(200, part(asked));
    }
  }

  const Objects truth_;
  std::mutex mutex_;
  Prng prng_{0};
  std::uint32_t percent_ = 0;
  std::uint64_t lies_ = 0;
  std::map<std::string, bool> changed_;
  HttpStub stub_;  // last: begins to answer when all else is there
};

}  // namespace tributary::pool
