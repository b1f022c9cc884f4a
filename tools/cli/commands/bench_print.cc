#include "tools/cli/commands/bench_print.h"
#include "tools/cli/commands/bench_streams.h"
#include "tools/cli/commands/bench_text.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

void print_stream(const ordered_json &s) {
    print_text(stdout, "stream    block of %u ticks: median %.1f µs, p99 %.1f µs, worst %.1f µs",
               s["block"].get<unsigned>(), s["block_us"]["median"].get<double>(),
               s["block_us"]["p99"].get<double>(), s["block_us"]["worst"].get<double>());
    if (s.contains("real_time_factor"))
        print_text(stdout, " · real-time factor %.5f", s["real_time_factor"].get<double>());
    print_text(stdout, "\n");
}

} // namespace

void print_bench(const ordered_json &json) {
    const auto &m = json["machine"];
    print_text(stdout, "machine   %s, %u CPUs, %s, load %.2f\n", m["cpu"].get<std::string>().c_str(),
               m["processors"].get<unsigned>(), m["system"].get<std::string>().c_str(),
               m["load"].get<double>());
    print_text(stdout, "settings  longwave %s, on %s, code %s, one thread, %u repeats\n",
               json["version"].get<std::string>().c_str(), json["device"].get<std::string>().c_str(),
               json["variant"].get<std::string>().c_str(), json["repeats"].get<unsigned>());
    print_text(stdout, "model     %s: %s\n", json["model"].get<std::string>().c_str(),
               bytes_text(json["artifact_bytes"]).c_str());
    if (json.contains("stream")) {
        print_text(stdout, "open      to the first output: cold %.2f ms, median %.2f ms\n",
                   json["open_to_first_output"]["cold_ms"].get<double>(),
                   json["open_to_first_output"]["median_ms"].get<double>());
        for (const auto &s : json["streams"]) print_stream(s);
        const auto &s = json["stream"];
        print_text(stdout, "memory    state %s, all of a stream %s\n", bytes_text(s["state_bytes"]).c_str(),
                   bytes_text(s["memory_bytes"]).c_str());
    }
    if (json.contains("streams_at_once"))
        for (const auto &n : json["streams_at_once"]) print_streams(n);
    if (json.contains("text")) print_text(json["text"]);
    if (json.contains("run")) {
        print_text(stdout, "offline   %u ticks: median %.3f ms, worst %.3f ms · memory %s\n",
                   json["run"]["ticks"].get<unsigned>(), json["run"]["median_ms"].get<double>(),
                   json["run"]["worst_ms"].get<double>(), bytes_text(json["run"]["memory_bytes"]).c_str());
        if (json["run"].contains("threads"))
            print_text(stdout, "          with %u threads: median %.3f ms, speed-up %.2f\n",
                       json["run"]["threads"].get<unsigned>(), json["run"]["threads_median_ms"].get<double>(),
                       json["run"]["threads_speed_up"].get<double>());
    }
}

} // namespace longwave::cli
