// Opening, pushing and pulling in one line, for tests whose subject lies elsewhere.
#pragma once
#include "longwave/longwave.h"
#include "tests/support/tiny_model.h"
#include <map>
#include <vector>

namespace longwave::test {

class Model {
public:
    explicit Model(const Draft &draft);
    explicit Model(const std::vector<uint8_t> &bytes);
    ~Model();
    Model(const Model &) = delete;
    operator const lw_model *() const { return model_; }

private:
    lw_model *model_ = nullptr;
};

class Stream {
public:
    explicit Stream(const lw_model *model, lw_sample_format format = LW_F32, uint32_t queue = 0,
                    uint32_t entry = 0, bool no_larger_blocks = false);
    ~Stream();
    Stream(const Stream &) = delete;
    operator lw_stream *() const { return stream_; }

private:
    lw_stream *stream_ = nullptr;
};

// The values of each output, row after row.
using Rows = std::map<uint32_t, std::vector<float>>;

// Everything that waits. The last status of pull is LW_AGAIN or LW_END; anything else fails the
// test.
void pull_all(lw_stream *stream, Rows *rows);
// Pushes all of it, pulling whenever the queue is full.
void push_all(lw_stream *stream, const std::vector<float> &x, Rows *rows);
// Pushes `rows` rows of `width` numbers, and pulls what there is after each push.
void push_rows(lw_stream *stream, const float *x, size_t rows, size_t width, Rows *pulled);
// A fresh stream fed with x in pieces of the given sizes, over and over, and finished.
Rows stream_in_cuts(const lw_model *model, const std::vector<float> &x, const std::vector<size_t> &cuts);
Rows run(const lw_model *model, const std::vector<float> &x, size_t length = 0);

std::vector<float> noise(size_t n, uint32_t seed = 1);
std::vector<uint8_t> save(const lw_stream *stream);
lw_stream_stats stats_of(const lw_stream *stream);

} // namespace longwave::test
