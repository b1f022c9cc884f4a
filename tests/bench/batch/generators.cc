// Each generator has a prompt and a seed of its own. Those of the batch have the same as those that go alone.
#include "tests/bench/batch/bench_batch.h"
#include <random>
#include <vector>

namespace longwave::bench {

namespace {

constexpr uint32_t prompt = 16; // ids

class Generator {
public:
    static Expected<Generator> create(const lw_model *model, uint32_t vocabulary, uint32_t seed) {
        Generator made;
        lw_stream_options how = LW_STREAM_OPTIONS_INIT;
        how.block = 1;
        lw_stream *stream = nullptr;
        LW_TRY(checked(lw_stream_create(model, &how, &stream), "creating a stream"));
        made.stream_.reset(stream);
        lw_generator_options options = LW_GENERATOR_OPTIONS_INIT;
        options.seed = seed;
        options.temperature = 0.8f;
        lw_generator *generator = nullptr;
        LW_TRY(checked(lw_generator_create(stream, &options, &generator), "creating a generator"));
        made.generator_.reset(generator);
        std::mt19937 random(seed);
        std::vector<int32_t> ids(prompt);
        for (int32_t &id : ids) id = static_cast<int32_t>(random() % vocabulary);
        LW_TRY(checked(lw_generator_prompt(generator, ids.data(), ids.size()), "reading a prompt"));
        return made;
    }
    lw_generator *get() const { return generator_.get(); }

private:
    std::unique_ptr<lw_stream, decltype(&lw_stream_destroy)> stream_{nullptr, lw_stream_destroy};
    std::unique_ptr<lw_generator, decltype(&lw_generator_destroy)> generator_{nullptr, lw_generator_destroy};
};

Expected<std::vector<Generator>> generators(const lw_model *model, uint32_t vocabulary, uint32_t n) {
    std::vector<Generator> list;
    for (uint32_t i = 0; i < n; i++) {
        LW_ASSIGN(Generator one, Generator::create(model, vocabulary, i + 1));
        list.push_back(std::move(one));
    }
    return list;
}

} // namespace

Expected<BatchTimes> bench_generators(const lw_model *model, const BatchOptions &options) {
    const uint32_t n = options.count;
    lw_input_info input = LW_INPUT_INFO_INIT;
    LW_TRY(checked(lw_model_input(model, 0, &input), "reading the input"));
    LW_ASSIGN(const std::vector<Generator> alone, generators(model, input.vocabulary, n));
    LW_ASSIGN(const std::vector<Generator> together, generators(model, input.vocabulary, n));
    lw_batch *made = nullptr;
    LW_TRY(checked(lw_batch_create(model, &made), "creating a batch"));
    const BatchHandle batch(made, lw_batch_destroy);
    std::vector<lw_generator *> list;
    for (const Generator &one : together) list.push_back(one.get());

    const uint64_t tokens = uint64_t{n} * options.steps;
    std::vector<int32_t> expected(tokens), found(tokens);
    std::vector<lw_generator_token> row(n, LW_GENERATOR_TOKEN_INIT);
    std::vector<lw_status> statuses(n);
    Least one_by_one, in_batch;
    BatchTimes times;
    for (uint32_t round = 0; round <= options.rounds; round++) {
        LW_TRY(one_by_one.time([&]() -> Status {
            for (uint32_t step = 0; step < options.steps; step++)
                for (uint32_t i = 0; i < n; i++) {
                    LW_TRY(checked(lw_generator_next(alone[i].get(), &row[i]), "a token"));
                    expected[uint64_t{step} * n + i] = row[i].id;
                }
            return {};
        }));
        LW_TRY(in_batch.time([&]() -> Status {
            for (uint32_t step = 0; step < options.steps; step++) {
                LW_TRY(checked(lw_batch_next(batch.get(), list.data(), n, row.data(), statuses.data()),
                               "tokens of the batch"));
                for (uint32_t i = 0; i < n; i++) {
                    LW_TRY(checked(statuses[i], "a token of the batch"));
                    found[uint64_t{step} * n + i] = row[i].id;
                }
            }
            return {};
        }));
        times.same = times.same && found == expected;
        times.results += tokens;
    }
    times.alone_us = one_by_one.us(tokens);
    times.together_us = in_batch.us(tokens);
    return times;
}

} // namespace longwave::bench
