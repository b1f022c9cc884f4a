#include "tools/cli/commands/bench_streams.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/status.h"
#include "tools/cli/model/stream.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {

namespace {

// A block for each stream; on a device they run together.
Status push_blocks(const Model &model, std::vector<Stream> &streams, const void *samples, size_t block) {
    for (Stream &stream : streams)
        LW_TRY(status_of(lw_stream_push(stream.get(), samples, block, nullptr), "push"));
    LW_TRY(status_of(lw_device_flush(model.device.get()), "flush"));
    for (Stream &stream : streams) LW_TRY(stream.pull([](const StreamRow &) {}));
    return {};
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
    std::vector<double> seconds;
    for (unsigned round = 0; round < rounds + 1; round++) { // the first warms
        const double start = now();
        LW_TRY(push_blocks(model, streams, in.data(0), block));
        if (round > 0) seconds.push_back(now() - start);
    }
    const double destroying = now();
    streams.clear();
    const double destroy_seconds = now() - destroying;
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    ordered_json json = {{"streams", n},
                         {"block", block},
                         {"round_ms", {{"median", 1e3 * median}, {"worst", 1e3 * seconds.back()}}},
                         {"create_ms", 1e3 * create_seconds},
                         {"destroy_ms", 1e3 * destroy_seconds},
                         {"ticks_per_second", static_cast<double>(n * block) / median}};
    const double rate = model.inputs[0].sample_rate;
    if (rate > 0) json["real_time_factor"] = median / (static_cast<double>(block) / rate); // of all of them
    return json;
}

void print_streams(const ordered_json &json) {
    std::printf("streams   %u at once, one block of %u ticks each: median %.3f ms, worst %.3f ms",
                json["streams"].get<unsigned>(), json["block"].get<unsigned>(),
                json["round_ms"]["median"].get<double>(), json["round_ms"]["worst"].get<double>());
    if (json.contains("real_time_factor"))
        std::printf(" · real-time factor %.5f", json["real_time_factor"].get<double>());
    std::printf("\n          created in %.1f ms, destroyed in %.1f ms\n", json["create_ms"].get<double>(),
                json["destroy_ms"].get<double>());
}

} // namespace longwave::cli
