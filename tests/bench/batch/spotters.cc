// The spotters hear one recording again and again, each from a place of its own.
#include "formats/audio/audio.h"
#include "tests/bench/batch/bench_batch.h"
#include <string_view>
#include <tuple>
#include <vector>

namespace longwave::bench {

namespace {

using Spotter = std::unique_ptr<lw_spotter, decltype(&lw_spotter_destroy)>;
using Event = std::tuple<std::string_view, float, uint64_t, uint64_t, uint64_t>;
using Events = std::vector<std::vector<Event>>; // of each spotter

Expected<std::vector<Spotter>> spotters(const lw_model *model, uint32_t n) {
    std::vector<Spotter> list;
    for (uint32_t i = 0; i < n; i++) {
        lw_spotter_options options = LW_SPOTTER_OPTIONS_INIT;
        options.format = LW_F32;
        lw_spotter *made = nullptr;
        LW_TRY(checked(lw_spotter_create(model, &options, &made), "creating a spotter"));
        list.emplace_back(made, lw_spotter_destroy);
    }
    return list;
}

Expected<std::vector<float>> recording(const std::string &file, uint32_t rate) {
    audio::Options how;
    how.sample_rate = rate;
    LW_ASSIGN(audio::Reader reader, audio::Reader::open(file, how));
    std::vector<float> samples;
    for (size_t n = 1; n > 0;) {
        const size_t had = samples.size();
        samples.resize(had + 65536);
        LW_ASSIGN(n, reader.read(samples.data() + had, 65536));
        samples.resize(had + n);
    }
    return samples;
}

void pull(const std::vector<Spotter> &list, Events &events) {
    lw_spotter_event event = LW_SPOTTER_EVENT_INIT;
    for (size_t i = 0; i < list.size(); i++)
        while (lw_spotter_pull(list[i].get(), &event) == LW_OK)
            events[i].emplace_back(event.word, event.score, event.tick, event.tick_start, event.row);
}

} // namespace

Expected<BatchTimes> bench_spotters(const lw_model *model, const BatchOptions &options) {
    const uint32_t n = options.count;
    lw_model_info info = LW_MODEL_INFO_INIT;
    lw_input_info input = LW_INPUT_INFO_INIT;
    LW_TRY(checked(lw_model_get_info(model, &info), "reading the model"));
    LW_TRY(checked(lw_model_input(model, 0, &input), "reading the input"));
    LW_ASSIGN(std::vector<float> sound, recording(options.audio, input.sample_rate));
    const uint32_t block = info.stream_block;
    const size_t blocks = sound.size() / block;
    if (blocks == 0) return Status::input(options.audio + " is shorter than a block");
    LW_ASSIGN(const std::vector<Spotter> alone, spotters(model, n));
    LW_ASSIGN(const std::vector<Spotter> together, spotters(model, n));
    lw_batch *made = nullptr;
    LW_TRY(checked(lw_batch_create(model, &made), "creating a batch"));
    const BatchHandle batch(made, lw_batch_destroy);
    std::vector<lw_spotter *> list;
    for (const Spotter &one : together) list.push_back(one.get());

    const auto place = [&](uint64_t step, uint32_t i) {
        return sound.data() + (step + i * blocks / n) % blocks * block;
    };
    std::vector<const void *> samples(n);
    const std::vector<size_t> counts(n, block);
    std::vector<size_t> taken(n);
    Events expected(n), found(n);
    Least one_by_one, in_batch;
    for (uint32_t round = 0; round <= options.rounds; round++) {
        const uint64_t first = uint64_t{round} * options.steps, end = first + options.steps;
        LW_TRY(one_by_one.time([&]() -> Status {
            for (uint64_t step = first; step < end; step++) {
                for (uint32_t i = 0; i < n; i++)
                    LW_TRY(
                        checked(lw_spotter_push(alone[i].get(), place(step, i), block, nullptr), "a block"));
                pull(alone, expected);
            }
            return {};
        }));
        LW_TRY(in_batch.time([&]() -> Status {
            for (uint64_t step = first; step < end; step++) {
                for (uint32_t i = 0; i < n; i++) samples[i] = place(step, i);
                LW_TRY(checked(lw_batch_push_spotters(batch.get(), list.data(), n, samples.data(),
                                                      counts.data(), taken.data()),
                               "blocks of the batch"));
                pull(together, found);
            }
            return {};
        }));
    }
    const uint64_t all = uint64_t{n} * options.steps;
    BatchTimes times{one_by_one.us(all), in_batch.us(all), 0, found == expected};
    for (const auto &events : expected) times.results += events.size();
    return times;
}

} // namespace longwave::bench
