#include "tools/cli/commands/bench_streams.h"
#include "longwave/batch.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/status.h"
#include "tools/cli/model/stream.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {

namespace {

// lw_device_flush, which waits for the block, or lw_device_submit, which leaves it in flight.
using Go = lw_status (*)(lw_device *);

// A block for each stream; on a device they run together.
Status push_blocks(const Model &model, std::vector<Stream> &streams, const void *samples, size_t block,
                   Go go) {
    for (Stream &stream : streams)
        LW_TRY(status_of(lw_stream_push(stream.get(), samples, block, nullptr), "push"));
    LW_TRY(status_of(go(model.device.get()), "running the blocks"));
    for (Stream &stream : streams) LW_TRY(stream.pull([](const StreamRow &) {}));
    return {};
}

// Seconds of each round, sorted.
Expected<std::vector<double>> time_rounds(const Model &model, std::vector<Stream> &streams,
                                          const void *samples, size_t block, unsigned rounds, Go go) {
    std::vector<double> seconds;
    for (unsigned round = 0; round < rounds + 1; round++) { // the first warms
        const double start = now();
        LW_TRY(push_blocks(model, streams, samples, block, go));
        if (round > 0) seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

// The same on the CPU, by kernels for several streams at once; the rows have the same bits.
Expected<std::vector<double>> time_batches(lw_batch *batch, std::vector<Stream> &streams, const void *samples,
                                           size_t block, unsigned rounds) {
    std::vector<lw_stream *> list;
    for (const Stream &stream : streams) list.push_back(stream.get());
    const std::vector<const void *> all(streams.size(), samples);
    const std::vector<size_t> counts(streams.size(), block);
    std::vector<size_t> taken(streams.size());
    std::vector<double> seconds;
    for (unsigned round = 0; round < rounds + 1; round++) { // the first warms
        const double start = now();
        LW_TRY(
            status_of(lw_batch_push(batch, list.data(), list.size(), all.data(), counts.data(), taken.data()),
                      "running the streams together"));
        for (Stream &stream : streams) LW_TRY(stream.pull([](const StreamRow &) {}));
        if (round > 0) seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

ordered_json milliseconds(const std::vector<double> &seconds) {
    return {{"median", 1e3 * seconds[seconds.size() / 2]}, {"worst", 1e3 * seconds.back()}};
}

} // namespace

Expected<ordered_json> bench_streams(const Model &model, uint32_t n, unsigned rounds) {
    if (!model.info.has_stream)
        return Status::usage(std::string("--streams: ") + model.info.name + " has no stream entry");
    const size_t block = std::max<uint32_t>(1, model.info.stream_block);
    const Sequence in = made_up(model, block, 3);
    std::vector<Stream> streams;
    const double creating = now();
    for (uint32_t s = 0; s < n; s++) {
        LW_ASSIGN(Stream stream, Stream::create(model));
        streams.push_back(std::move(stream));
    }
    const double create_seconds = now() - creating;
    LW_ASSIGN(const std::vector<double> seconds,
              time_rounds(model, streams, in.data(0), block, rounds, lw_device_flush));
    std::vector<double> in_flight;
    if (model.device) {
        LW_ASSIGN(in_flight, time_rounds(model, streams, in.data(0), block, rounds, lw_device_submit));
        LW_TRY(status_of(lw_device_flush(model.device.get()), "flush"));
    }
    std::vector<double> together;
    uint32_t at_once = 0;
    if (!model.device) {
        lw_batch *made = nullptr;
        LW_TRY(status_of(lw_batch_create(model.handle.get(), &made), "creating a batch"));
        const std::unique_ptr<lw_batch, void (*)(lw_batch *)> batch(made, lw_batch_destroy);
        at_once = lw_batch_streams(made);
        if (at_once > 1) {
            LW_ASSIGN(together, time_batches(made, streams, in.data(0), block, rounds));
        }
    }
    const double destroying = now();
    streams.clear();
    const double destroy_seconds = now() - destroying;
    const double median = seconds[seconds.size() / 2];
    ordered_json json = {{"streams", n},
                         {"block", block},
                         {"round_ms", milliseconds(seconds)},
                         {"create_ms", 1e3 * create_seconds},
                         {"destroy_ms", 1e3 * destroy_seconds},
                         {"ticks_per_second", static_cast<double>(n * block) / median}};
    if (!in_flight.empty()) json["in_flight_round_ms"] = milliseconds(in_flight);
    if (!together.empty()) {
        json["together"] = at_once;
        json["together_round_ms"] = milliseconds(together);
    }
    const double rate = model.inputs[0].sample_rate;
    if (rate > 0) json["real_time_factor"] = median / (static_cast<double>(block) / rate); // of all of them
    return json;
}

void print_streams(const ordered_json &json) {
    print_text(stdout, "streams   %u at once, one block of %u ticks each: median %.3f ms, worst %.3f ms",
               json["streams"].get<unsigned>(), json["block"].get<unsigned>(),
               json["round_ms"]["median"].get<double>(), json["round_ms"]["worst"].get<double>());
    if (json.contains("real_time_factor"))
        print_text(stdout, " · real-time factor %.5f", json["real_time_factor"].get<double>());
    if (json.contains("in_flight_round_ms"))
        print_text(stdout, "\n          with a block in flight: median %.3f ms, worst %.3f ms",
                   json["in_flight_round_ms"]["median"].get<double>(),
                   json["in_flight_round_ms"]["worst"].get<double>());
    if (json.contains("together_round_ms"))
        print_text(stdout, "\n          %u together: median %.3f ms, worst %.3f ms",
                   json["together"].get<unsigned>(), json["together_round_ms"]["median"].get<double>(),
                   json["together_round_ms"]["worst"].get<double>());
    print_text(stdout, "\n          created in %.1f ms, destroyed in %.1f ms\n",
               json["create_ms"].get<double>(), json["destroy_ms"].get<double>());
}

} // namespace longwave::cli
