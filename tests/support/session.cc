#include "tests/support/session.h"
#include "tests/support/options.h"
#include <doctest/doctest.h>
#include <random>

namespace longwave::test {

Model::Model(const Draft &draft) : Model(draft.bytes()) {}

Model::Model(const std::vector<uint8_t> &bytes) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model_);
    INFO(lw_last_error());
    REQUIRE(status == LW_OK);
}
Model::~Model() { lw_model_close(model_); }

Stream::Stream(const lw_model *model, lw_sample_format format, uint32_t queue, uint32_t entry,
               bool no_larger_blocks) {
    lw_stream_options options{};
    options.struct_size = sizeof options;
    options.format = format;
    options.queue = queue;
    options.no_larger_blocks = no_larger_blocks;
    if (entry > 0) {
        lw_stream_entry_info info = LW_STREAM_ENTRY_INFO_INIT;
        REQUIRE(lw_model_stream_entry(model, entry, &info) == LW_OK);
        options.block = info.block;
    }
    const lw_status status = lw_stream_create(model, &options, &stream_);
    INFO(lw_last_error());
    REQUIRE(status == LW_OK);
}
Stream::~Stream() { lw_stream_destroy(stream_); }

void pull_all(lw_stream *stream, Rows *rows) {
    lw_stream_row out{};
    out.struct_size = sizeof out;
    lw_status status;
    while ((status = lw_stream_pull(stream, &out)) == LW_OK) {
        std::vector<float> &values = (*rows)[out.index];
        CHECK(out.row * out.width == values.size());
        values.insert(values.end(), out.data, out.data + out.width);
    }
    CHECK((status == LW_AGAIN || status == LW_END));
}

void push_all(lw_stream *stream, const std::vector<float> &x, Rows *rows) {
    for (size_t done = 0; done < x.size();) {
        size_t taken = 0;
        REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
        done += taken;
        if (done < x.size()) pull_all(stream, rows);
    }
}

void push_rows(lw_stream *stream, const float *x, size_t rows, size_t width, Rows *pulled) {
    for (size_t taken = 0; rows > 0; rows -= taken, x += taken * width) {
        REQUIRE(lw_stream_push(stream, x, rows, &taken) == LW_OK);
        pull_all(stream, pulled);
    }
}

Rows stream_in_cuts(const lw_model *model, const std::vector<float> &x, const std::vector<size_t> &cuts) {
    Stream stream(model);
    Rows rows;
    for (size_t done = 0, i = 0; done < x.size(); ++i) {
        const size_t n = std::min(cuts[i % cuts.size()], x.size() - done);
        push_all(stream, {x.begin() + static_cast<long>(done), x.begin() + static_cast<long>(done + n)},
                 &rows);
        done += n;
        pull_all(stream, &rows);
    }
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    pull_all(stream, &rows);
    return rows;
}

Rows run(const lw_model *model, const std::vector<float> &x, size_t length) {
    lw_runner *runner = nullptr;
    REQUIRE(lw_runner_create(model, &f32_runner, &runner) == LW_OK);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    std::vector<float> copy = x;
    lw_run_tensor in{sizeof in, copy.data(), copy.size(), length};
    std::vector<lw_run_tensor> out(info.run_outputs);
    std::vector<std::vector<float>> values(info.run_outputs);
    std::vector<uint32_t> widths(info.run_outputs);
    for (uint32_t i = 0; i < info.run_outputs; ++i) {
        lw_output_info port{};
        port.struct_size = sizeof port;
        REQUIRE(lw_model_run_output(model, i, &port) == LW_OK);
        widths[i] = port.width;
        values[i].resize(size_t{port.width} * info.run_capacity);
        out[i] = {sizeof(lw_run_tensor), values[i].data(), info.run_capacity, 0};
    }
    const lw_status status = lw_run(runner, &in, 1, out.data(), out.size());
    INFO(lw_last_error());
    REQUIRE(status == LW_OK);
    Rows rows;
    for (uint32_t i = 0; i < info.run_outputs; ++i) {
        values[i].resize(out[i].rows * widths[i]);
        rows[i] = values[i];
    }
    lw_runner_destroy(runner);
    return rows;
}

std::vector<float> noise(size_t n, uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> x(n);
    for (float &value : x) value = uniform(generator);
    return x;
}

std::vector<uint8_t> save(const lw_stream *stream) {
    size_t n = 0;
    REQUIRE(lw_stream_save(stream, nullptr, 0, &n) == LW_OK);
    std::vector<uint8_t> bytes(n);
    REQUIRE(lw_stream_save(stream, bytes.data(), bytes.size(), &n) == LW_OK);
    return bytes;
}

lw_stream_stats stats_of(const lw_stream *stream) {
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    REQUIRE(lw_stream_get_stats(stream, &stats) == LW_OK);
    return stats;
}

} // namespace longwave::test
