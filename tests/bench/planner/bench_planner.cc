#include "tests/bench/planner/bench_planner.h"
#include "longwave/longwave.h"
#include "runtime/core/model.h"
#include "runtime/cpu/device_cpu.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <random>

namespace longwave::bench {
namespace {

using Json = nlohmann::ordered_json;

double now_ns() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The times of each step's firings, all tiles together.
class Watch {
public:
    static void tell(void *context, const fb::Step &step, bool before) {
        Watch &watch = *static_cast<Watch *>(context);
        const double at = now_ns();
        if (!before) watch.current_->push_back(at - watch.start_);
        else watch.current_ = &watch.times[&step];
        watch.start_ = before ? now_ns() : 0;
    }
    std::map<const fb::Step *, std::vector<double>> times;

private:
    std::vector<double> *current_ = nullptr;
    double start_ = 0;
};

Watch watched;

lw_status run_timed(runtime::Session &session, uint32_t entry, uint64_t block, const runtime::Extent &extent,
                    runtime::ThreadPool *thread_pool) {
    return run_watched(session, entry, block, extent, thread_pool, {Watch::tell, &watched});
}

// What every step carries of the clock itself.
double clock_cost() {
    std::vector<double> costs;
    for (int i = 0; i < 1001; i++) {
        const double start = now_ns();
        costs.push_back(now_ns() - start);
    }
    return median(costs);
}

Status failed() { return Status::device(lw_last_error()); }

struct Close {
    void operator()(lw_model *model) const { lw_model_close(model); }
    void operator()(lw_stream *stream) const { lw_stream_destroy(stream); }
    void operator()(lw_runner *runner) const { lw_runner_destroy(runner); }
};

// Numbers for `ticks` ticks of an input: noise, or ids.
std::vector<float> made_up(const lw_input_info &input, size_t ticks) {
    std::mt19937 random(3);
    std::normal_distribution<float> noise(0, 0.1f);
    std::vector<float> values(ticks * std::max(1u, input.width));
    for (float &value : values) {
        value = noise(random);
        if (input.kind != LW_INPUT_TOKENS) continue;
        const auto id = static_cast<int32_t>(random() % std::max(1u, input.vocabulary));
        std::memcpy(&value, &id, sizeof id);
    }
    return values;
}

Status run_whole(const lw_model *model, const lw_model_info &info, double seconds) {
    lw_runner_options options = LW_RUNNER_OPTIONS_INIT;
    options.format = LW_F32;
    lw_runner *made = nullptr;
    if (lw_runner_create(model, &options, &made) != LW_OK) return failed();
    const std::unique_ptr<lw_runner, Close> runner(made);
    std::vector<std::vector<float>> numbers;
    std::vector<lw_run_tensor> in, out(info.run_outputs, lw_run_tensor{sizeof(lw_run_tensor), nullptr, 0, 0});
    for (uint32_t i = 0; i < info.inputs; i++) {
        lw_input_info input = {};
        input.struct_size = sizeof input;
        if (lw_model_input(model, i, &input) != LW_OK) return failed();
        numbers.push_back(made_up(input, info.run_capacity));
        in.push_back({sizeof(lw_run_tensor), numbers.back().data(), info.run_capacity, 0});
    }
    const double end = now_ns() + 1e9 * seconds;
    for (int i = 0; i < 3 || now_ns() < end; i++) {
        if (i == 1) watched.times.clear(); // the first warms the caches
        if (lw_run(runner.get(), in.data(), in.size(), out.data(), out.size()) != LW_OK) return failed();
    }
    return {};
}

Status run_stream(const lw_model *model, const lw_stream_entry_info &about, double seconds) {
    lw_input_info input = {};
    input.struct_size = sizeof input;
    if (lw_model_input(model, 0, &input) != LW_OK) return failed();
    lw_stream_options options = {};
    options.struct_size = sizeof options;
    options.block = about.block;
    options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    lw_stream *made = nullptr;
    if (lw_stream_create(model, &options, &made) != LW_OK) return failed();
    const std::unique_ptr<lw_stream, Close> stream(made);
    constexpr size_t different = 16; // blocks
    const std::vector<float> values = made_up(input, different * about.block);
    const size_t tick = std::max(1u, input.width);
    const size_t warm = std::max<size_t>(2 * about.period, 100), least = warm + 5 * size_t{about.period};
    const double end = now_ns() + 1e9 * seconds;
    for (size_t b = 0; b < least || now_ns() < end; b++) {
        if (b == warm) watched.times.clear();
        const float *block = &values[b % different * about.block * tick];
        if (lw_stream_push(stream.get(), block, about.block, nullptr) != LW_OK) return failed();
        lw_stream_row row = {};
        row.struct_size = sizeof row;
        while (lw_stream_pull(stream.get(), &row) == LW_OK) {
        }
    }
    return {};
}

// ---- steps become layers
struct Names {
    std::string layer, kernel;
};

// A step is named "<layer> <what>"; a kernel's own name is in its specification.
Names names_of(const fb::Plan &plan, const fb::Step &step) {
    const std::string name = step.name() ? step.name()->str() : "";
    Names names{.layer = name.substr(0, name.find(' ')), .kernel = "clear"};
    if (step.kind() != fb::StepKind::call) return names;
    const Json spec = Json::parse(plan.kernels()->Get(step.kernel())->spec()->str(), nullptr, false);
    if (spec.is_object()) names.kernel = spec.value("kernel", std::string("?"));
    if (name.size() > names.kernel.size() && name.ends_with(" " + names.kernel))
        names.layer = name.substr(0, name.size() - names.kernel.size() - 1);
    return names;
}

// The choices that the report tells of: of one layer and op there may be several, twins, which
// count as one.
struct Choices {
    struct Choice {
        std::string layer, op, algorithm;
        double elements = 0, ns = 0; // of all twins
    };
    std::vector<Choice> list;

    Choices(const Json &report, const std::string &entry) {
        for (const auto &layer : report.value("layers", Json::array()))
            for (const auto &choice : layer.value("algorithms", Json::array())) {
                if (choice.value("entry", "") != entry) continue;
                Choice next{layer.value("layer", ""), choice.value("op", ""), choice.value("algorithm", ""),
                            choice.value("elements", 0.0), 0};
                next.ns = next.elements * choice.value("predicted_ns", 0.0);
                if (Choice *twin = find(next.layer, next.op)) {
                    twin->elements += next.elements;
                    twin->ns += next.ns;
                } else {
                    list.push_back(next);
                }
            }
    }
    Choice *find(const std::string &layer, const std::string &kernel) {
        for (Choice &choice : list)
            if (choice.layer == layer && kernel.rfind(choice.op, 0) == 0) return &choice;
        return nullptr;
    }
};

void add_layers(const lw_model &model, const fb::Entry &entry, const std::string &name, double clock_ns,
                const Json &report, std::vector<LayerCost> &layers) {
    Choices choices(report, name);
    const size_t first = layers.size();
    double all = 0;
    std::map<const LayerCost *, uint32_t> periods;
    for (const fb::Step *step : *entry.steps()) {
        const Names names = names_of(model.plan(), *step);
        const Choices::Choice *choice = choices.find(names.layer, names.kernel);
        const std::string algorithm = choice ? choice->algorithm : "";
        auto cost = std::find_if(layers.begin() + static_cast<ptrdiff_t>(first), layers.end(),
                                 [&](const LayerCost &l) {
                                     return l.layer == names.layer && l.algorithm == algorithm &&
                                            (choice || l.kernels == names.kernel);
                                 });
        if (cost == layers.end()) {
            layers.push_back(
                {.entry = name, .layer = names.layer, .kernels = names.kernel, .algorithm = algorithm});
            cost = layers.end() - 1;
            if (choice && choice->elements > 0) {
                cost->elements = choice->elements;
                cost->predicted_ns = choice->ns / choice->elements;
            }
        } else if (cost->kernels.find(names.kernel) == std::string::npos) {
            cost->kernels += ", " + names.kernel;
        }
        const double firing = std::max(0.0, median(watched.times[step]) - clock_ns);
        cost->measured_us += firing / step->period() / 1000;
        all += firing / step->period() / 1000;
    }
    for (size_t i = first; i < layers.size(); i++) {
        layers[i].share = all > 0 ? layers[i].measured_us / all : 0;
        if (layers[i].elements > 0) layers[i].measured_ns = 1000 * layers[i].measured_us / layers[i].elements;
    }
}

Expected<PlannerResult> measure(const lw_model &model, const PlannerOptions &options) {
    lw_model_info info = {};
    info.struct_size = sizeof info;
    if (lw_model_get_info(&model, &info) != LW_OK) return failed();
    const Json report = Json::parse(info.report ? info.report : "", nullptr, false);
    if (!report.is_object()) return Status::input(options.path + ": holds no compile report");
    PlannerResult result{
        .model = info.name, .variant = info.variant, .version = lw_version(), .clock_ns = clock_cost()};
    uint32_t stream = 0;
    bool ran = false;
    for (const fb::Entry *entry : *model.plan().entries()) {
        watched = {};
        if (entry->kind() == fb::EntryKind::run && !ran && entry->block() == info.run_capacity) {
            ran = true;
            LW_TRY(run_whole(&model, info, options.seconds));
            add_layers(model, *entry, "run", result.clock_ns, report, result.layers);
        }
        if (entry->kind() == fb::EntryKind::stream) {
            const lw_stream_entry_info &about = model.entry_infos[stream++];
            LW_TRY(run_stream(&model, about, options.seconds));
            add_layers(model, *entry, fmt::format("stream {}", entry->block()), result.clock_ns, report,
                       result.layers);
        }
    }
    return result;
}

double rounded(double value) { return value > 0 ? std::stod(fmt::format("{:.4g}", value)) : 0; }

} // namespace

Expected<PlannerResult> bench_planner(const PlannerOptions &options) {
    lw_open_options open = {};
    open.struct_size = sizeof open;
    open.allow_unsigned_code = 1;
    open.memory_limit = options.memory;
    if (!options.variant.empty()) open.variant = options.variant.c_str();
    lw_model *made = nullptr;
    const lw_status status = lw_model_open(options.path.c_str(), &open, &made);
    if (status != LW_OK)
        return Status(status == LW_BAD_ARTIFACT || status == LW_BAD_VERSION ? Fault::input : Fault::device,
                      options.path + ": " + lw_last_error());
    const std::unique_ptr<lw_model, Close> model(made);
    runtime::Device device = runtime::cpu_device;
    device.run = run_timed;
    model->device = &device;
    auto result = measure(*model, options);
    model->device = &runtime::cpu_device; // close() goes through it
    return result;
}

Json to_json(const PlannerResult &result, const std::string &cpu) {
    Json json{{"what", "planner"},
              {"model", result.model},
              {"version", result.version},
              {"variant", result.variant},
              {"machine", {{"cpu", cpu}}},
              {"threads", 1},
              {"clock_ns", rounded(result.clock_ns)},
              {"layers", Json::array()}};
    for (const LayerCost &l : result.layers) {
        Json layer{{"entry", l.entry},
                   {"layer", l.layer},
                   {"kernels", l.kernels},
                   {"measured_us", rounded(l.measured_us)},
                   {"share", rounded(l.share)}};
        if (!l.algorithm.empty()) {
            layer["algorithm"] = l.algorithm;
            layer["elements"] = l.elements;
            layer["predicted_ns"] = rounded(l.predicted_ns);
            layer["measured_ns"] = rounded(l.measured_ns);
            layer["ratio"] = rounded(l.ratio());
        }
        json["layers"].push_back(std::move(layer));
    }
    return json;
}

std::string to_text(const PlannerResult &result, const std::string &cpu) {
    std::string out = fmt::format("machine   {}, one pinned thread\nsettings  longwave {}, code {}\n"
                                  "artifact  {}: predicted and measured ns an output element, medians\n",
                                  cpu, result.version, result.variant, result.model);
    size_t width = 8;
    for (const LayerCost &l : result.layers) width = std::max(width, std::min<size_t>(l.layer.size(), 28));
    std::string entry;
    for (const LayerCost &l : result.layers) {
        if (l.entry != entry)
            out += fmt::format("{}\n  {:<{}}  {:<28} {:>9} {:>9} {:>6} {:>10} {:>6}\n", l.entry, "layer",
                               width, "algorithm or kernel", "predicted", "measured", "ratio",
                               l.entry == "run" ? "µs" : "µs a block", "share");
        entry = l.entry;
        out +=
            fmt::format("  {:<{}}  {:<28} ", l.layer, width, l.algorithm.empty() ? l.kernels : l.algorithm);
        out += l.predicted_ns > 0
                   ? fmt::format("{:>9.3f} {:>9.3f} {:>6.2f} ", l.predicted_ns, l.measured_ns, l.ratio())
                   : fmt::format("{:>9} {:>9} {:>6} ", "", "", "");
        out += fmt::format("{:>10.2f} {:>5.1f}%\n", l.measured_us, 100 * l.share);
    }
    return out;
}

} // namespace longwave::bench
