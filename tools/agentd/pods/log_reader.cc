#include "tools/agentd/pods/log_reader.h"

#include <algorithm>

namespace tributary::agentd {
namespace {

constexpr std::size_t kMostText = 128 << 10;
constexpr std::size_t kMostWaiting = 16;
constexpr std::size_t kFrameHeader = 8;

std::size_t length_of(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 4; i < kFrameHeader; ++i)
    length = length << 8 | static_cast<unsigned char>(header[i]);
  return length;
}

std::string valid_utf8(const std::string& text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

}  // namespace

std::string printed_text(std::string_view frames, std::size_t most) {
  std::string text;
  while (frames.size() >= kFrameHeader) {
    const std::size_t length = length_of(frames);
    frames.remove_prefix(kFrameHeader);
    text.append(frames.substr(0, length));
    frames.remove_prefix(std::min(length, frames.size()));
  }
  if (text.size() > most) {
    const std::size_t line = text.find('\n', text.size() - most);
    text.erase(0, line == std::string::npos ? text.size() - most : line + 1);
  }
  return valid_utf8(text);
}

LogReader::LogReader(const std::string& podman, const std::string& node,
                     std::function<void()> answered)
    : libpod_(podman, node), answered_(std::move(answered)), thread_([this] { run(); }) {}

LogReader::~LogReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LogReader::ask(manager::LogQuestion question) {
  const std::lock_guard lock(mutex_);
  if (questions_.size() < kMostWaiting) questions_.push_back(std::move(question));
  wake_.notify_all();
}

LogReader::Answers LogReader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

manager::LogAnswer LogReader::answer(const manager::LogQuestion& question) {
  try {
    for (const RuntimeContainer& one : libpod_.list())
      if (one.instance == question.instance && one.container == question.container)
        return {printed_text(libpod_.log_frames(one.id, question.lines), kMostText), ""};
    return {"", "container " + question.container + " is not there yet"};
  } catch (const std::exception& error) {
    return {"", error.what()};
  }
}

void LogReader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !questions_.empty(); });
    if (stopping_) return;
    const manager::LogQuestion question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    manager::LogAnswer found = answer(question);
    lock.lock();
    answers_.emplace_back(question.id, std::move(found));
    lock.unlock();
    answered_();
    lock.lock();
  }
}

}  // namespace tributary::agentd
