// longwave-soak: streams that serve for weeks. Chunks of input (an hour of audio, a million tokens)
// go through several streams on several threads, in pushes of random sizes. The streams of a thread
// hear the same chunk at once, each in pushes of its own sizes. What must hold:
//
// 1. A served stream starts each chunk with a reset. The hash of all its rows or events equals the
//    hash of a fresh stream that gets the same chunk in pushes of one second. Rows and positions
//    restart, so this is exact. One fresh stream is enough for all that hear the chunk.
// 2. A stream of `--endless` is never reset. Its newest rows at the end of a chunk equal those of a
//    fresh stream that gets the last `--warm-up` ticks, within 1e-5 of the peak. This is for models
//    with a bounded memory: a fresh stream never equals one whose recurrent layers remember
//    everything.
// 3. On the CPU a served stream makes no allocation, and the memory of the process does not grow.
#include "formats/audio/audio.h"
#include "longwave/longwave.h"
#ifdef LONGWAVE_SOAK_VULKAN
#include "longwave/vulkan.h"
#endif
#include "tests/soak/input.h"
#include "tests/soak/listener.h"
#include "tests/soak/progress.h"
#include "tests/support/faults.h"
#include <CLI/CLI.hpp>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <malloc.h>
#include <memory>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace longwave::soak {
namespace {

constexpr double endless_limit = 1e-5; // of the peak, as streams of another start (docs/guarantees.md)

struct Flags {
    std::string model, device = "cpu", sound, progress;
    uint64_t chunks = 0, chunk = 0, warm_up = 0;
    unsigned streams = 8, threads = 2, endless = 0;
    uint64_t growth_kib = 1024;
    uint64_t disturb = UINT64_MAX, leak = 0; // mutants: what the test must notice
};

struct Work {
    const Flags &flags;
    const lw_model *model;
    Input input;
    bool tokens, events;
    size_t second; // ticks of a push to a fresh stream, and of the rows that are compared
    Progress &progress;
    std::atomic<bool> failed = false;
};

double seconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

uint64_t rss_kib() {
    std::ifstream file("/proc/self/statm");
    uint64_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

// The streams of one thread. All take their chunks in turns, a push at a time.
class Worker {
public:
    Worker(Work &work, unsigned thread) : work_(work), samples_(work.second), random_(mixed(thread + 77)) {
        for (unsigned s = thread; s < work.flags.streams; s += work.flags.threads) {
            Served served;
            served.endless = s < work.flags.endless;
            const auto kind = work.events && s % 2 == 1 ? Listener::Kind::events : Listener::Kind::rows;
            served.kind = served.endless ? Listener::Kind::rows : kind;
            served.listener = fresh_like(served);
            served_.push_back(std::move(served));
        }
    }

    void run() {
        while (!work_.failed && round()) {
        }
    }

    // The most memory that this test itself takes: all served streams have heard something, and each
    // thread has a fresh stream at the same time. A thread that gets no CPU for a while would show it
    // after the base of the growth was taken. All workers call this at once.
    void show_peak(std::barrier<> &all) {
        for (unsigned turn = 0; turn * work_.flags.threads < work_.flags.streams; turn++) {
            std::unique_ptr<Listener> fresh;
            if (turn < served_.size()) {
                fresh = fresh_like(served_[turn]);
                for (Listener *each : {fresh.get(), served_[turn].listener.get()})
                    feed(*each, work_.flags.chunk - std::min<uint64_t>(work_.flags.chunk, work_.second));
                served_[turn].listener->reset();
            }
            all.arrive_and_wait();
            work_.progress.measure(rss_kib(), 4 * work_.flags.streams);
            all.arrive_and_wait();
        }
    }

private:
    struct Served {
        std::unique_ptr<Listener> listener;
        Listener::Kind kind = Listener::Kind::rows;
        bool endless = false, busy = false;
        uint64_t number = 0, done = 0; // of its chunk among all that are served; ticks
        bool same_work(const Served &other) const { return kind == other.kind && endless == other.endless; }
    };

    // Values in the rows of one second: what a fresh stream gives.
    size_t newest_values() const {
        lw_model_info info{};
        info.struct_size = sizeof info;
        lw_model_get_info(work_.model, &info);
        double values = 0;
        for (uint32_t i = 0; i < info.stream_outputs; i++) {
            lw_output_info output{};
            output.struct_size = sizeof output;
            lw_model_stream_output(work_.model, i, &output);
            values += std::floor(static_cast<double>(work_.second) * output.clock_num / output.clock_den) *
                      output.width;
        }
        return static_cast<size_t>(values);
    }

    bool round() {
        bool any = false;
        for (Served &served : served_) {
            served.busy = work_.progress.next(&served.number);
            served.done = 0;
            if (!served.busy) continue;
            if (!served.endless) served.listener->reset();
            if (!any) chunk_ = served.number;
            any = true;
        }
        {
            const test::faults::Scope counted;
            while (step()) {
            }
            for (Served &served : served_)
                if (served.busy && !served.endless) served.listener->finish();
            work_.progress.allocated(static_cast<uint64_t>(counted.count(test::faults::allocate)));
        }
        for (size_t s = 0; s < served_.size(); s++)
            if (served_[s].busy) compare_with_fresh(s);
        if (work_.flags.leak > 0) leaked_.emplace_back(work_.flags.leak, 'x');
        return any;
    }

    // One push to every stream that has input left.
    bool step() {
        bool any = false;
        for (Served &served : served_) {
            if (!served.busy || served.done == work_.flags.chunk) continue;
            random_ = mixed(random_);
            const uint64_t most = random_ % 8 == 0 ? samples_.size() : 1 + samples_.size() / 16;
            const uint64_t n = std::min(1 + (random_ >> 8) % most, work_.flags.chunk - served.done);
            work_.input.fill(chunk_, served.done, n, samples_.data());
            if (served.number == work_.flags.disturb && served.done <= work_.flags.chunk / 2 &&
                served.done + n > work_.flags.chunk / 2)
                samples_[0] ^= work_.tokens ? 1 : 0x40000000;
            served.listener->push(samples_.data(), n, sizeof samples_[0]);
            served.done += n;
            any = true;
        }
        return any;
    }

    void feed(Listener &to, uint64_t first) {
        for (uint64_t at = first; at < work_.flags.chunk; at += samples_.size()) {
            const size_t n = std::min<uint64_t>(samples_.size(), work_.flags.chunk - at);
            work_.input.fill(chunk_, at, n, samples_.data());
            to.push(samples_.data(), n, sizeof samples_[0]);
        }
    }

    // Compares this stream and those behind it that do the same.
    void compare_with_fresh(size_t first) {
        const Served like = {nullptr, served_[first].kind, served_[first].endless};
        const std::unique_ptr<Listener> fresh = fresh_like(like);
        feed(*fresh, like.endless ? work_.flags.chunk - work_.flags.warm_up : 0);
        if (!like.endless) fresh->finish();
        work_.progress.measure(rss_kib(), 4 * work_.flags.streams);
        for (size_t s = first; s < served_.size(); s++) {
            Served &served = served_[s];
            if (!served.busy || !served.same_work(like)) continue;
            served.busy = false;
            compare(served, *fresh);
        }
    }

    std::unique_ptr<Listener> fresh_like(const Served &served) const {
        return std::make_unique<Listener>(work_.model, served.kind, work_.tokens,
                                          served.endless ? newest_values() : 0);
    }

    void compare(const Served &served, const Listener &fresh) {
        const double error = served.endless ? distance(served.listener->newest(), fresh.newest()) : 0;
        const bool equal = served.endless ? error <= endless_limit
                                          : served.listener->hash() == fresh.hash() &&
                                                served.listener->given() == fresh.given();
        if (equal) {
            work_.progress.done(served.number, fresh.given(), error);
            return;
        }
        work_.failed = true;
        std::fprintf(stderr,
                     "chunk %llu: %s differs from a fresh stream (%s; %llu and %llu given; error %.1e)\n",
                     static_cast<unsigned long long>(served.number),
                     served.endless ? "an endless stream" : "a served stream",
                     served.kind == Listener::Kind::events ? "events" : "rows",
                     static_cast<unsigned long long>(served.listener->given()),
                     static_cast<unsigned long long>(fresh.given()), error);
    }

    static double distance(const std::vector<float> &found, const std::vector<float> &expected) {
        double peak = 0, worst = 0;
        for (size_t i = 0; i < expected.size(); i++) {
            peak = std::max(peak, std::fabs(double{expected[i]}));
            const double apart = std::fabs(double{found[i]} - double{expected[i]});
            worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
        }
        return peak > 0 ? worst / peak : INFINITY;
    }

    Work &work_;
    std::vector<Served> served_;
    uint64_t chunk_ = 0;            // that all of them hear
    std::vector<uint32_t> samples_; // float or int32
    uint64_t random_;
    std::vector<std::string> leaked_;
};

struct Opened {
    lw_device *device = nullptr;
    lw_model *model = nullptr;
    Opened() = default;
    Opened(const Opened &) = delete;
    ~Opened() {
        lw_model_close(model);
#ifdef LONGWAVE_SOAK_VULKAN
        lw_vulkan_close(device);
#endif
    }
};

void open(const Flags &flags, Opened &opened) {
    lw_open_options how{};
    how.struct_size = sizeof how;
    how.allow_unsigned_code = 1;
    if (flags.device != "cpu") {
#ifdef LONGWAVE_SOAK_VULKAN
        if (lw_vulkan_open(nullptr, &opened.device) != LW_OK)
            throw std::runtime_error(std::string("SKIPPED: no Vulkan device: ") + lw_last_error());
#else
        throw std::runtime_error("SKIPPED: built without Vulkan");
#endif
        how.device = opened.device;
    }
    if (lw_model_open(flags.model.c_str(), &how, &opened.model) != LW_OK)
        throw std::runtime_error(lw_last_error());
}

Input input_of(const Flags &flags, const lw_input_info &info) {
    if (info.kind == LW_INPUT_TOKENS) return Input::tokens(info.vocabulary);
    if (info.kind != LW_INPUT_AUDIO)
        throw std::runtime_error(flags.model + ": expected audio or tokens as input");
    audio::Options options;
    options.sample_rate = info.sample_rate;
    auto sound = audio::read(flags.sound, options);
    if (!sound) throw std::runtime_error(sound.status().message());
    return Input::audio(std::move(sound->samples), info.sample_rate);
}

int soak(const Flags &given) {
    mallopt(M_MMAP_THRESHOLD, 1 << 16); // memory of a destroyed stream goes back to the system at once
    Flags flags = given;
    Opened opened;
    open(flags, opened);
    lw_input_info info{};
    info.struct_size = sizeof info;
    lw_model_input(opened.model, 0, &info);
    const bool tokens = info.kind == LW_INPUT_TOKENS;
    const uint64_t second = tokens ? 256 : info.sample_rate;
    const char *unit = tokens ? "tokens" : "hours";
    if (!tokens) flags.chunk *= second, flags.warm_up *= second;
    if (flags.endless > 0 && (flags.warm_up < second || flags.warm_up > flags.chunk))
        throw std::runtime_error("--endless: needs --warm-up of at least one second and at most --chunk");
    Progress progress(flags.progress, flags.model + " " + std::to_string(flags.chunk) + " " + flags.device,
                      flags.chunks);
    Work work{flags, opened.model, input_of(flags, info), tokens, !tokens, second, progress};
    {
        lw_spotter *probe = nullptr; // a model without decision settings has no events
        work.events = !tokens && lw_spotter_create(opened.model, nullptr, &probe) == LW_OK;
        lw_spotter_destroy(probe);
    }
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned t = 0; t < flags.threads; t++) workers.push_back(std::make_unique<Worker>(work, t));
    std::atomic<unsigned> running = flags.threads;
    std::barrier together(flags.threads);
    std::vector<std::thread> threads;
    for (auto &worker : workers)
        threads.emplace_back([&work, &running, &worker, &together] {
            try {
                worker->show_peak(together);
                worker->run();
            } catch (const std::exception &error) {
                work.failed = true;
                std::fprintf(stderr, "%s\n", error.what());
                together.arrive_and_drop();
            }
            --running;
        });
    const double units = tokens ? static_cast<double>(flags.chunk)
                                : static_cast<double>(flags.chunk) / static_cast<double>(second) / 3600;
    double last = seconds_of(CLOCK_MONOTONIC), last_cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), told = last;
    while (running > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const double now = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        progress.spent(now - last, cpu - last_cpu);
        progress.measure(rss_kib(), 4 * flags.streams);
        last = now, last_cpu = cpu;
        if (now - told < 30) continue;
        told = now;
        std::fprintf(stderr, "%s\n", progress.summary(unit, units).c_str());
    }
    for (std::thread &thread : threads) thread.join();
    std::printf("%s\n", progress.summary(unit, units).c_str());
    if (progress.growth_kib() > flags.growth_kib) {
        std::fprintf(stderr, "memory grew by %llu KiB, allowed are %llu\n",
                     static_cast<unsigned long long>(progress.growth_kib()),
                     static_cast<unsigned long long>(flags.growth_kib));
        work.failed = true;
    }
    if (flags.device == "cpu" && progress.allocations() > 0) {
        std::fprintf(stderr, "served streams allocated %llu times, expected none\n",
                     static_cast<unsigned long long>(progress.allocations()));
        work.failed = true;
    }
    return work.failed ? 1 : 0;
}

} // namespace
} // namespace longwave::soak

int main(int argc, char **argv) {
    longwave::soak::Flags flags;
    CLI::App app(
        "Streams that serve for weeks: each chunk of input equals a fresh stream, and memory does not grow.");
    app.add_option("model", flags.model, "A .lw file with a stream, of audio or tokens")->required();
    app.add_option("--chunks", flags.chunks, "Chunks of input, over all streams")->required();
    app.add_option("--chunk", flags.chunk, "Seconds of audio, or tokens, in a chunk")
        ->required()
        ->check(CLI::PositiveNumber);
    app.add_option("--streams", flags.streams, "Streams at once")->check(CLI::PositiveNumber);
    app.add_option("--threads", flags.threads, "Threads that serve them")->check(CLI::PositiveNumber);
    app.add_option("--endless", flags.endless, "How many of the streams are never reset");
    app.add_option("--warm-up", flags.warm_up,
                   "Seconds or tokens after which a fresh stream equals an endless one");
    app.add_option("--sound", flags.sound, "A recording for models of audio")->capture_default_str();
    app.add_option("--device", flags.device, "cpu or vulkan")->check(CLI::IsMember({"cpu", "vulkan"}));
    app.add_option("--progress", flags.progress, "File that a later call reads, to go on");
    app.add_option("--growth", flags.growth_kib, "Most KiB by which the process may grow");
    app.add_option("--disturb", flags.disturb, "Mutant: a wrong sample in this chunk");
    app.add_option("--leak", flags.leak, "Mutant: bytes that each round leaks");
    CLI11_PARSE(app, argc, argv);
    try {
        return longwave::soak::soak(flags);
    } catch (const std::exception &error) {
        const std::string what = error.what();
        std::printf("%s\n", what.c_str());
        return what.starts_with("SKIPPED") ? 77 : 1;
    }
}
