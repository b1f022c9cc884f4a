#include "tools/cli/page/bench_page.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include <algorithm>
#include <vector>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct Bar {
    std::string label, value;
    double size = 0;
    std::string style = "c1";
};

// Bars of one unit on one scale. A bar above `limit` ends at the edge, in grey: an outlier would
// hide all others.
std::string bars(std::vector<Bar> list, double limit = 0) {
    double most = 1e-30;
    for (Bar &bar : list) {
        if (limit > 0 && bar.size > limit) {
            bar.size = limit;
            bar.style = "other";
            bar.value = "» " + bar.value;
        }
        most = std::max(most, bar.size);
    }
    std::string out = "<div class=\"bars\">\n";
    for (const Bar &bar : list)
        out += "<span>" + escaped(bar.label) + "</span><div><i class=\"" + bar.style +
               "\" style=\"width:" + css_number(100 * std::max(0.0, bar.size) / most) + "%\"></i></div><b>" +
               escaped(bar.value) + "</b>\n";
    return out + "</div>\n";
}

std::string micros(double us) { return seconds_text(1e-6 * us); }
std::string millis(double ms) { return seconds_text(1e-3 * ms); }

std::string machine_words(const ordered_json &json) {
    const ordered_json &m = json["machine"];
    return m["cpu"].get<std::string>() +
           format(", %u CPUs, load %.2f. ", m["processors"].get<unsigned>(), m["load"].get<double>()) +
           "longwave " + json["version"].get<std::string>() + ", on " + json["device"].get<std::string>() +
           ", code " + json["variant"].get<std::string>() + ", one thread.";
}

// Blocks of each stream entry: the distribution of their times.
std::string streams_chart(const ordered_json &streams) {
    std::string out;
    for (const ordered_json &s : streams) {
        std::vector<Bar> list;
        const double limit = 4 * s["block_us"]["median"].get<double>();
        for (const ordered_json &at : s["block_us"].value("quantiles", ordered_json::array())) {
            const double share = at[0], us = at[1];
            list.push_back({share == 1     ? "worst"
                            : share == 0.5 ? "median"
                                           : format("%g %%", 100 * share),
                            micros(us), us, share == 0.5 ? "c1" : "c6"});
        }
        out += "<h3>" + escaped(format("block of %u ticks", s["block"].get<unsigned>())) + "</h3>\n" +
               bars(list, limit);
        if (s.contains("real_time_factor"))
            out += "<p>" +
                   escaped(format("%u blocks. Share of real time: %.3g %%.", s["blocks"].get<unsigned>(),
                                  100 * s["real_time_factor"].get<double>())) +
                   "</p>\n";
    }
    return out;
}

std::string runs_chart(const ordered_json &run) {
    std::vector<Bar> list{{"median", millis(run["median_ms"]), run["median_ms"]},
                          {"worst", millis(run["worst_ms"]), run["worst_ms"], "c6"}};
    if (run.contains("threads"))
        list.push_back({format("median, %u threads", run["threads"].get<unsigned>()),
                        millis(run["threads_median_ms"]), run["threads_median_ms"], "c2"});
    return bars(list, 8 * run["median_ms"].get<double>());
}

std::string at_once_chart(const ordered_json &rounds) {
    std::vector<Bar> list;
    for (const ordered_json &n : rounds) {
        const double ms = n["round_ms"]["median"];
        list.push_back({format("%u stream%s", n["streams"].get<unsigned>(), n["streams"] == 1 ? "" : "s"),
                        millis(ms), ms});
    }
    return bars(list);
}

std::string memory_chart(const ordered_json &json) {
    std::vector<Bar> list;
    const auto add = [&](const std::string &label, const ordered_json &bytes) {
        list.push_back({label, bytes_text(bytes), bytes.get<double>()});
    };
    add("file", json["artifact_bytes"]);
    if (json.contains("stream")) {
        add("state of a stream", json["stream"]["state_bytes"]);
        add("all of a stream", json["stream"]["memory_bytes"]);
    }
    if (json.contains("run")) add("an offline run", json["run"]["memory_bytes"]);
    return bars(list);
}

// Two bars for each layer: the CPU and the GPU.
std::string layers_chart(const ordered_json &layers) {
    std::vector<Bar> list;
    for (const ordered_json &layer : layers) {
        const std::string name = layer["layer"];
        const double cpu = layer["cpu_us"];
        list.push_back({name + ", CPU", micros(cpu), cpu});
        if (layer["gpu_us"].is_number())
            list.push_back({name + ", GPU", micros(layer["gpu_us"]), layer["gpu_us"], "c2"});
    }
    return bars(list);
}

} // namespace

std::string bench_page(const ordered_json &json) {
    if (json.contains("layer_times")) {
        Page page("Layers of " + json["model"].get<std::string>(),
                  json["processor"].get<std::string>() + " and " + json["device"].get<std::string>() +
                      ", one thread.");
        page.section("layers", "Time of each layer", "Each layer of an offline run, timed alone.",
                     layers_chart(json["layers"]));
        return page.html();
    }
    Page page("Benchmark of " + json["model"].get<std::string>(), machine_words(json));
    if (json.contains("stream")) {
        page.fact(micros(json["stream"]["block_us"]["median"]), "median block");
        page.fact(micros(json["stream"]["block_us"]["p99"]), "99 % of blocks");
        page.fact(millis(json["open_to_first_output"]["median_ms"]), "open to first row");
    }
    if (json.contains("run")) page.fact(millis(json["run"]["median_ms"]), "offline run");
    page.fact(bytes_text(json["artifact_bytes"]), "file");
    if (json.contains("streams"))
        page.section("streams", "Time of a block",
                     "Each bar: the time that so many of the blocks do not exceed. A grey bar goes on beyond "
                     "the scale.",
                     streams_chart(json["streams"]));
    if (json.contains("streams_at_once"))
        page.section("at-once", "Many streams", "Median time for one block of each stream.",
                     at_once_chart(json["streams_at_once"]));
    if (json.contains("run"))
        page.section("run", "Offline run",
                     format("One run of %u ticks.", json["run"]["ticks"].get<unsigned>()),
                     runs_chart(json["run"]));
    page.section("memory", "Memory", "", memory_chart(json));
    page.section("data", "Data", "What longwave bench --json prints.",
                 details("JSON", "<pre>" + escaped(json_line(json, 1)) + "</pre>"));
    return page.html();
}

} // namespace longwave::cli
