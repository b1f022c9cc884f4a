#include "tools/cli/page/model_page.h"
#include "formats/artifact/geometry.h"
#include "runtime/watch/watched_cpu.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>

namespace longwave::cli {

std::string entry_name(const fb::Entry &entry) {
    std::string name = entry.kind() == fb::EntryKind::prepare ? "prepare"
                       : entry.kind() == fb::EntryKind::run   ? format("run %u", entry.block())
                                                              : format("stream %u", entry.block());
    return entry.device() == fb::DeviceKind::gpu ? name + " on a GPU" : name;
}

ReportValue report_of(const ReportValue &report, const fb::Entry &entry) {
    for (const ReportValue &of : report["entries"].list()) {
        const std::string kind = of["kind"].text();
        const ReportValue block = of[kind == "run" ? "capacity" : "block"];
        const std::string name = block ? kind + format(" %.0f", block.number()) : kind;
        if (name + (of.has("gpu") ? " on a GPU" : "") == entry_name(entry)) return of;
    }
    return report["no such entry"];
}

std::vector<const fb::Entry *> shown_entries(const fb::Plan &plan) {
    const fb::Entry *stream = nullptr, *run = nullptr;
    for (const fb::Entry *entry : *plan.entries()) {
        if (entry->device() != fb::DeviceKind::cpu) continue;
        if (entry->kind() == fb::EntryKind::stream && !stream) stream = entry;
        if (entry->kind() == fb::EntryKind::run && (!run || entry->block() > run->block())) run = entry;
    }
    std::vector<const fb::Entry *> shown;
    if (stream) shown.push_back(stream);
    if (run) shown.push_back(run);
    return shown;
}

std::string more(size_t left_out) {
    return left_out == 0
               ? ""
               : format("<p>and %zu more; <code>longwave inspect --json</code> has all.</p>\n", left_out);
}

namespace {

// "audio, 16000 Hz → 12 classes"
std::string subtitle(const fb::Plan &plan) {
    std::string text;
    for (const auto *input : *plan.inputs()) {
        text += (text.empty() ? "" : ", ") + input->name()->str();
        if (input->sample_rate()) text += format(" at %u Hz", input->sample_rate());
        else if (input->vocabulary()) text += format(" of %u tokens", input->vocabulary());
        else text += format(" with %u values", input->width());
    }
    if (plan.labels() && plan.labels()->size() > 0)
        return text + format(" → %u classes", plan.labels()->size());
    return text;
}

std::string entries_table(const fb::Plan &plan, const ReportValue &report) {
    Table table({"entry", ">steps", ">delay", ">working memory", ">caches", ">calls", ">moved",
                 "predicted time of a block"});
    for (const fb::Entry *entry : *plan.entries()) {
        std::string delay, calls, moved, predicted;
        if (entry->outputs() && entry->outputs()->size() > 0 && entry->kind() == fb::EntryKind::stream)
            delay = format("%u ticks", entry->outputs()->Get(0)->delay());
        const ReportValue of = report_of(report, *entry);
        if (of.has("calls")) calls = format("%.4g", of["calls"].number());
        if (of.has("moved_bytes"))
            moved = bytes_text(static_cast<uint64_t>(std::clamp(of["moved_bytes"].number(), 0.0, 1e18)));
        for (const auto *variant : *plan.variants()) {
            const double us = of["predicted"]["targets"][variant->target()->c_str()].number();
            if (us > 0)
                predicted +=
                    (predicted.empty() ? "" : ", ") + format("%.3g µs at ", us) + variant->target()->str();
        }
        table.row({escaped(entry_name(*entry)), std::to_string(entry->steps()->size()), delay,
                   bytes_text(entry->arena_bytes()),
                   entry->cache_bytes() ? bytes_text(entry->cache_bytes()) : "", calls, moved,
                   escaped(predicted)});
    }
    return table.html();
}

void add_facts(Page &page, const ArtifactFile &file, const ReportValue &report) {
    const fb::Plan &plan = file.plan();
    page.fact(bytes_text(file.size()), "file");
    if (report.has("parameters")) page.fact(count_text(report["parameters"].count()), "parameters");
    page.fact(bytes_text(plan.weights_bytes()), "weights");
    const fb::Entry *stream = file.view().stream();
    if (stream) {
        const double rate = plan.inputs()->Get(0)->sample_rate();
        page.fact(rate > 0 ? format("%g ms", 1000 * stream->block() / rate)
                           : format("%u ticks", stream->block()),
                  "stream block");
        const uint32_t delay = artifact::count(stream->outputs()) ? stream->outputs()->Get(0)->delay() : 0;
        page.fact(rate > 0 ? format("%g ms", 1000 * delay / rate) : format("%u ticks", delay), "delay");
        page.fact(bytes_text(plan.state_bytes()), "state per stream");
    } else {
        page.fact("offline", "no stream");
    }
    page.fact(std::to_string(plan.kernels()->size()), "kernels");
    page.fact(format("%u.%u", file.view().header().major, file.view().header().minor), "file format");
}

} // namespace

Expected<std::string> model_page(const PageInputs &in, const std::string &where) try {
    const fb::Plan &plan = in.file.plan();
    const ReportValue report(in.report), certificates(in.certificates);
    Page page(plan.name()->str(), subtitle(plan));
    add_facts(page, in.file, report);
    page.section(
        "graph", "Graph",
        "Layers in the order of computation, after all passes. The ops of a layer stand beside its name. "
        "The rate and width of its rows, and its delay, stand below. Blue edges skip layers.",
        graph_section(report));
    page.section("layers", "What became of each layer", "", layers_section(report));
    page.section("entries", "Entries", "A stream advances by blocks. A run computes one complete sequence.",
                 entries_table(plan, report));
    page.section(
        "memory", "Memory plan over time",
        "Each box is a buffer: its width shows the steps in which it is used, its height its bytes. Buffers "
        "that are never used at once share addresses.",
        memory_section(plan));
    page.section("kernels", "Kernels", "Bytes of machine code at each level of instructions.",
                 kernels_section(in));
    page.section("state", "State map",
                 "What a stream remembers between two blocks, in the order of its addresses.",
                 state_section(plan));
    page.section("proof", "Certificates and golden vectors", "", proof_section(report, certificates, plan));
    page.section("file", "File and hashes", "", file_section(in.file, in.signature));
    return page.html();
} catch (const WrongType &wrong) {
    return Status::input(where + ": " + wrong.text);
}

namespace {

constexpr double least_seconds = 0.2; // for each entry
constexpr size_t most_firings = 2000; // of a step, so that memory stays small

struct Watch {
    std::vector<std::vector<std::vector<double>>> us; // [entry][step]: each firing

    explicit Watch(const fb::Plan &plan) {
        for (const auto *entry : *plan.entries()) us.emplace_back(entry->steps()->size());
    }
    static void told(void *context, const runtime::StepRun &run) {
        if (run.step == runtime::all_steps) return;
        auto &times = static_cast<Watch *>(context)->us[run.entry][run.step];
        if (times.size() < most_firings)
            times.push_back(1e-3 * static_cast<double>(run.end_ns - run.begin_ns));
    }
    void forget() {
        for (auto &entry : us)
            for (auto &step : entry) step.clear();
    }
};

double median_us(std::vector<double> &values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Status run_offline(const Model &model, Watch &watch) {
    const Sequence in = made_up(model, model.info.run_capacity, 3);
    LW_ASSIGN(Runner runner, Runner::create(model));
    LW_ASSIGN(const auto first, runner.run(in)); // warms the caches
    watch.forget();
    const double start = now();
    for (int i = 0; i < 3 || now() - start < least_seconds; i++) {
        LW_ASSIGN(const auto rows, runner.run(in));
    }
    return {};
}

Status run_stream(const Model &model, uint32_t entry, Watch &watch) {
    const size_t block = model.entry(entry).block, blocks = 16;
    const Sequence in = made_up(model, blocks * block, 3);
    LW_ASSIGN(Stream stream, Stream::create(model, LW_F32, entry));
    const auto nothing = [](const StreamRow &) {};
    LW_TRY(stream.push(in.data(0), in.rows, nothing));
    watch.forget();
    const double start = now();
    const size_t least = 5 * size_t{model.entry(entry).period} / blocks + 1;
    for (size_t i = 0; i < least || now() - start < least_seconds; i++)
        LW_TRY(stream.push(in.data(0), in.rows, nothing));
    return {};
}

void keep(Watch &watch, StepTimes &times) {
    for (size_t e = 0; e < watch.us.size(); e++)
        for (size_t s = 0; s < watch.us[e].size(); s++)
            if (!watch.us[e][s].empty()) times.us[e][s] = median_us(watch.us[e][s]);
}

} // namespace

Expected<std::vector<StepTimes>> measure_steps(const ArtifactFile &file, const ModelFlags &flags) {
    const fb::Plan &plan = file.plan();
    std::vector<StepTimes> all;
    for (const auto *variant : *plan.variants()) {
        if (!runs_here(*variant)) continue;
        Watch watch(plan);
        ModelFlags open = flags;
        open.variant = variant->target()->str();
        open.watched = std::shared_ptr<lw_device>(runtime::watched_cpu_create(Watch::told, &watch),
                                                  runtime::watched_cpu_destroy);
        if (!open.watched) return Status::device("--time: no memory for a device");
        LW_ASSIGN(const Model model, Model::open(open));
        StepTimes times{open.variant, {}};
        for (const auto *entry : *plan.entries()) times.us.emplace_back(entry->steps()->size());
        if (model.info.has_run) LW_TRY(run_offline(model, watch));
        keep(watch, times);
        for (uint32_t e = 0; e < model.info.stream_entries; e++) {
            LW_TRY(run_stream(model, e, watch));
            keep(watch, times);
        }
        all.push_back(std::move(times));
    }
    return all;
}

} // namespace longwave::cli
