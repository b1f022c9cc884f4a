// The classes behind longwave.Row and longwave.Stream.
#pragma once
#include "bindings.h"
#include <algorithm>
#include <vector>

namespace longwave::python {

struct Row {
    uint32_t output;
    uint64_t number, end;
    nb::object data;
};

class Stream {
public:
    Stream(const Model &model, uint32_t block, uint32_t queue, const std::string &format)
        : input_(input_info(model.get(), 0)), format_(input_.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32),
          stream_(create(model, block, queue, format), lw_stream_destroy, model.share(), "the stream") {
        auto info = make<lw_model_info>();
        check(lw_model_get_info(model.get(), &info));
        for (uint32_t i = 0; i < info.stream_outputs; i++) {
            outputs_.push_back(make<lw_output_info>());
            check(lw_model_stream_output(model.get(), i, &outputs_.back()));
        }
    }

    size_t push(nb::handle values) {
        const Samples in = taken(values);
        size_t done = 0;
        stream_.use([&](lw_stream *s) { check(lw_stream_push(s, in.data, in.ticks, &done)); });
        return done;
    }
    void prefill(nb::handle values) {
        const Samples in = taken(values);
        stream_.use([&](lw_stream *s) { check(lw_stream_prefill(s, in.data, in.ticks)); });
    }
    void finish() {
        stream_.use([](lw_stream *s) { check(lw_stream_finish(s)); });
    }
    void reset() {
        stream_.use([](lw_stream *s) { check(lw_stream_reset(s)); });
    }
    void set(const std::string &scalar, float value) {
        stream_.use([&](lw_stream *s) { check(lw_stream_set(s, scalar.c_str(), value)); });
    }
    float get(const std::string &scalar) {
        float value = 0;
        stream_.use([&](lw_stream *s) { check(lw_stream_get(s, scalar.c_str(), &value)); });
        return value;
    }
    void copy(Stream &from) {
        if (&from == this) return;
        from.stream_.use([&](lw_stream *other) {
            const nb::gil_scoped_acquire held; // use() releases it again
            stream_.use([&](lw_stream *s) { check(lw_stream_copy(s, other)); });
        });
    }

    // The next row, or None.
    nb::object pull() {
        auto out = make<lw_stream_row>();
        std::unique_ptr<float[]> data;
        const bool more = stream_.use([&](lw_stream *s) {
            const lw_status status = lw_stream_pull(s, &out);
            if (status == LW_AGAIN || status == LW_END) return false;
            check(status);
            data.reset(new float[out.width]);
            std::copy_n(out.data, out.width, data.get());
            return true;
        });
        if (!more) return nb::none();
        float *const at = data.release();
        const nb::capsule owner(at, [](void *p) noexcept { delete[] static_cast<float *>(p); });
        const size_t shape[] = {out.width};
        return nb::cast(Row{out.index, out.row, out.end,
                            nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<1>>(at, 1, shape, owner))});
    }

    // Pushes all values and pulls every row that comes out; then ends the stream if `last`.
    nb::object process(nb::handle values, bool last) {
        const Samples in = taken(values);
        std::vector<std::vector<float>> rows(outputs_.size());
        const size_t width = in.format == LW_S16 ? sizeof(int16_t) : sizeof(float) * input_.width;
        stream_.use([&](lw_stream *s) {
            for (size_t at = 0; at < in.ticks;) {
                size_t done = 0;
                check(
                    lw_stream_push(s, static_cast<const char *>(in.data) + at * width, in.ticks - at, &done));
                at += done;
                pull_all(s, rows);
            }
            if (last) {
                check(lw_stream_finish(s));
                pull_all(s, rows);
            }
        });
        if (outputs_.size() == 1) return as_array(rows[0], outputs_[0].width);
        nb::dict all;
        for (size_t i = 0; i < outputs_.size(); i++)
            all[outputs_[i].name] = as_array(rows[i], outputs_[i].width);
        return all;
    }

    nb::bytes save() {
        const std::string bytes = stream_.use([](lw_stream *s) {
            return saved([&](void *to, size_t size, size_t *n) { return lw_stream_save(s, to, size, n); });
        });
        return nb::bytes(bytes.data(), bytes.size());
    }
    void load(const nb::bytes &state) {
        stream_.use([&](lw_stream *s) { check(lw_stream_load(s, state.c_str(), state.size())); });
    }
    nb::dict stats() {
        auto stats = make<lw_stream_stats>();
        stream_.use([&](lw_stream *s) { check(lw_stream_get_stats(s, &stats)); });
        nb::dict out;
        out["ticks"] = stats.ticks;
        out["blocks"] = stats.blocks;
        out["rows_dropped"] = stats.rows_dropped;
        out["non_finite"] = stats.non_finite;
        out["non_finite_outputs"] = stats.non_finite_outputs;
        out["poisoned"] = stats.poisoned != 0;
        return out;
    }
    void close() { stream_.close(); }

private:
    friend class StreamBatch;
    lw_stream *create(const Model &model, uint32_t block, uint32_t queue, const std::string &format) {
        const lw_sample_format asked = format_named(format);
        if (input_.kind != LW_INPUT_TOKENS) format_ = asked;
        auto options = make<lw_stream_options>();
        options.format = format_;
        options.block = block;
        options.queue = queue;
        lw_stream *stream = nullptr;
        check(lw_stream_create(model.get(), &options, &stream));
        return stream;
    }
    Samples taken(nb::handle values) const {
        Samples in = samples(values, input_);
        if (in.format != format_)
            throw nb::type_error(format_ == LW_S16
                                     ? "this stream takes int16 audio"
                                     : "this stream takes float32; make it with format=\"int16\" "
                                       "for 16-bit audio");
        return in;
    }
    static void pull_all(lw_stream *s, std::vector<std::vector<float>> &rows) {
        for (;;) {
            auto out = make<lw_stream_row>();
            const lw_status status = lw_stream_pull(s, &out);
            if (status == LW_AGAIN || status == LW_END) return;
            check(status);
            rows[out.index].insert(rows[out.index].end(), out.data, out.data + out.width);
        }
    }
    static nb::object as_array(const std::vector<float> &rows, uint32_t width) {
        std::unique_ptr<float[]> data(new float[rows.size()]);
        std::copy(rows.begin(), rows.end(), data.get());
        return rows_array(std::move(data), rows.size() / width, width);
    }

    lw_input_info input_;
    lw_sample_format format_;
    std::vector<lw_output_info> outputs_;
    Owned<lw_stream> stream_;
};

} // namespace longwave::python
