#include "tests/soak/listener.h"
#include <cstring>
#include <stdexcept>

namespace longwave::soak {

namespace {

constexpr uint64_t start = 0xcbf29ce484222325;

void must(lw_status status, const char *call) {
    if (status != LW_OK) throw std::runtime_error(std::string(call) + ": " + lw_last_error());
}

} // namespace

Listener::Listener(const lw_model *model, Kind kind, bool tokens, size_t kept) : hash_(start), ring_(kept) {
    if (kind == Kind::events) {
        lw_spotter_options how{};
        how.struct_size = sizeof how;
        must(lw_spotter_create(model, &how, &spotter_), "lw_spotter_create");
    } else {
        lw_stream_options how{};
        how.struct_size = sizeof how;
        how.format = tokens ? LW_I32 : LW_F32;
        must(lw_stream_create(model, &how, &stream_), "lw_stream_create");
    }
}

Listener::~Listener() {
    lw_spotter_destroy(spotter_);
    lw_stream_destroy(stream_);
}

void Listener::take(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 4) {
        uint32_t word;
        std::memcpy(&word, static_cast<const uint8_t *>(bytes) + i, 4);
        hash_ = (hash_ ^ word) * 0x100000001b3;
        hash_ ^= hash_ >> 29;
    }
}

void Listener::pull() {
    if (spotter_) {
        lw_spotter_event event{};
        event.struct_size = sizeof event;
        lw_status status;
        for (; (status = lw_spotter_pull(spotter_, &event)) == LW_OK; given_++) {
            take(&event.label, sizeof event.label);
            take(&event.score, sizeof event.score);
            take(&event.tick, sizeof event.tick);
            take(&event.tick_start, sizeof event.tick_start);
            take(&event.row, sizeof event.row);
        }
        if (status != LW_AGAIN && status != LW_END) must(status, "lw_spotter_pull");
        return;
    }
    lw_stream_row row{};
    row.struct_size = sizeof row;
    lw_status status;
    for (; (status = lw_stream_pull(stream_, &row)) == LW_OK; given_++) {
        take(&row.index, sizeof row.index);
        take(&row.row, sizeof row.row);
        take(row.data, row.width * sizeof(float));
        for (uint32_t i = 0; i < row.width && !ring_.empty(); i++) {
            ring_[next_] = row.data[i];
            next_ = (next_ + 1) % ring_.size();
        }
    }
    if (status != LW_AGAIN && status != LW_END) must(status, "lw_stream_pull");
}

void Listener::push(const void *samples, size_t n, size_t width_bytes) {
    for (size_t done = 0; done < n;) {
        const void *from = static_cast<const uint8_t *>(samples) + done * width_bytes;
        size_t taken = 0;
        must(spotter_ ? lw_spotter_push(spotter_, from, n - done, &taken)
                      : lw_stream_push(stream_, from, n - done, &taken),
             "push");
        done += taken;
        pull();
    }
}

void Listener::finish() {
    must(spotter_ ? lw_spotter_finish(spotter_) : lw_stream_finish(stream_), "finish");
    pull();
}

void Listener::reset() {
    must(spotter_ ? lw_spotter_reset(spotter_) : lw_stream_reset(stream_), "reset");
    hash_ = start;
    given_ = 0;
}

std::vector<float> Listener::newest() const {
    std::vector<float> values(ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
    values.insert(values.end(), ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_));
    return values;
}

} // namespace longwave::soak
