#include "tools/cli/audio/live_audio.h"
#include "tools/cli/microphone/microphone.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include <thread>

namespace longwave::cli {

Expected<audio::Reader> open_audio(const AudioFlags &flags, uint32_t model_rate,
                                   std::function<void(const std::string &text)> notice,
                                   std::function<void(const std::string &text)> warn) {
    audio::Options options = flags.options(model_rate);
    options.stop = &stopped;
    if (warn) options.warn = std::move(warn);
    if (flags.microphone.empty()) return audio::Reader::open(flags.path, options);
    return open_microphone({flags.microphone, options, std::move(notice)});
}

bool Interruptions::add() {
    count_++;
    if (now() < next_) return false;
    next_ = now() + 1;
    return true;
}

void wait_until(double due) {
    const double wait = due - now();
    if (wait > 0) std::this_thread::sleep_for(std::chrono::duration<double>(wait));
}

} // namespace longwave::cli
