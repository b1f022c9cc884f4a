#include "tools/cli/trace/trace.h"
#include "runtime/watch/watched_cpu.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/description.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <longwave/longwave.h>

using nlohmann::ordered_json;

namespace longwave::cli {

struct Trace::Event {
    enum class Kind : uint8_t { step, block, call, keyword, scores } kind;
    uint64_t begin_ns = 0, end_ns = 0;
    uint32_t entry = 0, step = 0;
    uint64_t number = 0;       // block, or ticks of a call
    std::string name;          // call, keyword
    std::vector<float> values; // scores; of a keyword: score and seconds
    const std::vector<std::string> *labels = nullptr;
};

namespace {

double microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

const char *kind_of(fb::EntryKind kind) {
    return kind == fb::EntryKind::prepare ? "prepare" : kind == fb::EntryKind::run ? "run" : "stream";
}

std::string name_of(const fb::Step &step) {
    return step.name() ? printable(step.name()->str()) : std::string("step");
}

ordered_json arguments_of(const fb::Plan &plan, const fb::Step &step) {
    if (step.kind() != fb::StepKind::call) return {{"kernel", "clear"}, {"bytes", step.bytes()}};
    ordered_json json = {{"kernel", kernel_text(plan, step.kernel()).name}};
    if (step.tiles() > 1) json["tiles"] = step.tiles();
    if (step.period() > 1) json["every"] = std::to_string(step.period()) + " blocks";
    return json;
}

ordered_json span(const std::string &name, const char *category, double begin, double length,
                  ordered_json args) {
    return {{"name", name},  {"cat", category}, {"ph", "X"}, {"ts", begin},
            {"dur", length}, {"pid", 1},        {"tid", 1},  {"args", std::move(args)}};
}

} // namespace

Trace::Trace(ArtifactFile file) : file_(std::move(file)) {}
Trace::~Trace() = default;

Expected<std::shared_ptr<Trace>> Trace::create(ModelFlags &model) {
    if (model.device != "cpu")
        return Status::usage("--trace: only the steps of the CPU are timed; leave out --device " +
                             model.device);
    LW_ASSIGN(ArtifactFile file, ArtifactFile::read(model.path));
    std::shared_ptr<Trace> trace(new Trace(std::move(file)));
    const auto told = [](void *context, const runtime::StepRun &run) {
        Trace &self = *static_cast<Trace *>(context);
        if (!self.room()) return;
        const bool whole = run.step == runtime::all_steps;
        self.events_.push_back({.kind = whole ? Event::Kind::block : Event::Kind::step,
                                .begin_ns = run.begin_ns,
                                .end_ns = run.end_ns,
                                .entry = run.entry,
                                .step = run.step,
                                .number = run.block});
    };
    trace->device_ = std::shared_ptr<lw_device>(runtime::watched_cpu_create(told, trace.get()),
                                                runtime::watched_cpu_destroy);
    if (!trace->device_) return Status::device("--trace: no memory for a device");
    model.watched = trace->device_;
    return trace;
}

uint64_t Trace::clock_ns() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

bool Trace::room() {
    if (events_.size() < most) return true;
    dropped_++;
    return false;
}

void Trace::call(const char *name, uint64_t begin_ns, uint64_t end_ns, uint64_t ticks) {
    if (room())
        events_.push_back({.kind = Event::Kind::call,
                           .begin_ns = begin_ns,
                           .end_ns = end_ns,
                           .number = ticks,
                           .name = name});
}

void Trace::keyword(const std::string &word, double score, double seconds) {
    if (room())
        events_.push_back({.kind = Event::Kind::keyword,
                           .begin_ns = clock_ns(),
                           .name = word,
                           .values = {static_cast<float>(score), static_cast<float>(seconds)}});
}

void Trace::scores(const std::vector<std::string> &labels, const std::vector<float> &values) {
    if (room())
        events_.push_back(
            {.kind = Event::Kind::scores, .begin_ns = clock_ns(), .values = values, .labels = &labels});
}

std::string Trace::json() const {
    const fb::Plan &plan = file_.plan();
    uint64_t start = UINT64_MAX;
    for (const Event &event : events_) start = std::min(start, event.begin_ns);
    std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":";
    text += json_line(
        {{"model", printable(plan.name()->str())}, {"longwave", lw_version()}, {"dropped_events", dropped_}});
    text += ",\"traceEvents\":[\n";
    const auto meta = [](const char *what, const std::string &name) {
        return json_line({{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}});
    };
    text += meta("process_name", "longwave " + printable(plan.name()->str())) + ",\n";
    text += meta("thread_name", "stream");
    for (const Event &event : events_) {
        const double begin = microseconds(event.begin_ns - start);
        const double length = event.end_ns > event.begin_ns ? microseconds(event.end_ns - event.begin_ns) : 0;
        ordered_json line;
        switch (event.kind) {
        case Event::Kind::step: {
            const fb::Step &step = *plan.entries()->Get(event.entry)->steps()->Get(event.step);
            line = span(name_of(step), "step", begin, length, arguments_of(plan, step));
            break;
        }
        case Event::Kind::block: {
            const fb::Entry &entry = *plan.entries()->Get(event.entry);
            const std::string kind = kind_of(entry.kind());
            line = span(kind + " " + std::to_string(entry.block()), "block", begin, length,
                        {{"block", event.number}, {"ticks", entry.block()}});
            break;
        }
        case Event::Kind::call:
            line = span(event.name, "call", begin, length, {{"ticks", event.number}});
            break;
        case Event::Kind::keyword:
            line = {
                {"name", event.name}, {"cat", "keyword"},
                {"ph", "i"},          {"s", "p"},
                {"ts", begin},        {"pid", 1},
                {"tid", 1},           {"args", {{"score", event.values[0]}, {"seconds", event.values[1]}}}};
            break;
        case Event::Kind::scores:
            line = {
                {"name", "scores"}, {"ph", "C"}, {"ts", begin}, {"pid", 1}, {"args", ordered_json::object()}};
            for (size_t i = 0; i < event.values.size() && i < event.labels->size(); i++)
                line["args"][(*event.labels)[i]] = event.values[i];
            break;
        }
        text += ",\n" + json_line(line);
    }
    return text + "\n]}\n";
}

void add_trace_flag(CommandLine &app, std::string &path) {
    app.add_option(
           "--trace", path,
           "Write when each step ran, for Perfetto (ui.perfetto.dev). On the CPU only. Timing adds about "
           "0.1 microseconds to each step")
        ->file(".json");
}

Status Trace::write(const std::string &path) const {
    const std::string text = json();
    LW_TRY(write_output(path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()}));
    print_text(stderr, "%s: %zu events%s; open it in ui.perfetto.dev\n", path.c_str(), events_.size(),
               dropped_ > 0 ? format(", %zu more were left out", dropped_).c_str() : "");
    return {};
}

} // namespace longwave::cli
