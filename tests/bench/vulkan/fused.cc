// Our kernels as longwave-kgen makes them, from a folder, so that they also run where there is no
// compiler.
#include "compiler/base/process.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/register_transform.h"
#include "targets/target.h"
#include "tests/bench/vulkan/problem.h"
#include "tests/support/right_angle.h"
#include "tools/cli/process/programs.h"
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace longwave::bench {
namespace {

namespace fs = std::filesystem;

std::string name_of(Points points, uint32_t length, uint32_t channels) {
    return fmt::format("conv-{}-{}-{}", points == Points::in_registers ? "registers" : "shared", length,
                       channels);
}

constexpr const char *register_target = "vulkan-32k";

std::optional<schedules::RegisterForm> form_of(uint32_t length, uint32_t padded) {
    return schedules::register_form(length, padded,
                                    schedules::limits_of(*targets::find_gpu(register_target)));
}

class Fused : public Contestant {
public:
    std::string name() const override { return "longwave"; } // whichever kernel
    Status record(VkCommandBuffer commands) override {
        for (const Gpu::Dispatch &dispatch : each) Gpu::record(commands, dispatch);
        return {};
    }
    Status reset() override { return {}; }
    Expected<std::vector<float>> outputs() override {
        const Problem &p = *problem;
        std::vector<float> packed(size_t{padded} * p.length * p.batch), rows(p.samples());
        LW_TRY(gpu->download(y, packed));
        for (size_t s = 0; s < p.batch; s++)
            for (size_t c = 0; c < p.channels; c++)
                for (size_t t = 0; t < p.length; t++)
                    rows[(s * p.channels + c) * p.length + t] = packed[(s * p.length + t) * padded + c];
        return rows;
    }
    int dispatches() const override { return static_cast<int>(each.size()); }

    Gpu *gpu;
    const Problem *problem;
    uint32_t padded = 0;
    Gpu::Buffer y;
    std::vector<Gpu::Dispatch> each; // a sequence
};

// [P/T][length][2][T], innermost last (long_conv_fused's spectrum).
std::vector<float> packed_spectrum(const Problem &p, uint32_t padded, uint32_t tile) {
    const uint32_t slots = form.slots(form.last_pass());
    std::vector<float> packed(size_t{padded} * 2 * slots * form.workers());
    for (uint32_t c = 0; c < p.channels; c++) {
        const float *taps = &p.taps[size_t{c} * p.length];
        const test::Points made = test::right_angle_spectrum({taps, taps + p.length});
        for (size_t q = 0; q < p.length; q++) {
            float *at = &packed[((size_t{c / tile} * p.length + q) * 2) * tile + c % tile];
            at[0] = static_cast<float>(made[q].real() / p.length);
            at[tile] = static_cast<float>(made[q].imag() / p.length);
        }
    }
    return packed;
}

// [tiles][points / 2][threads][4], in the order of the threads (long_conv_registers' spectrum).
std::vector<float> spectrum_by_threads(const Problem &p, uint32_t padded,
                                       const schedules::RegisterForm &form) {
    const std::vector<int32_t> order = schedules::register_spectrum_order(form, form.radices);
    std::vector<float> packed(size_t{padded} * 2 * p.length);
    for (uint32_t c = 0; c < p.channels; c++) {
        const float *taps = &p.taps[size_t{c} * p.length];
        const test::Points made = test::right_angle_spectrum({taps, taps + p.length});
        for (uint32_t slot = 0; slot < slots; slot++)
            for (uint32_t worker = 0; worker < form.workers(); worker++) {
                const auto value = made[static_cast<size_t>(order[slot * form.workers() + worker])];
                const size_t four = (size_t{c / form.lanes} * (slots / 2) + slot / 2) * form.threads() +
                                    worker * form.lanes + c % form.lanes;
                float *at = &packed[4 * four + 2 * (slot % 2)];
                at[0] = static_cast<float>(value.real() / p.length);
                at[1] = static_cast<float>(value.imag() / p.length);
            }
    }
    return packed;
}

std::vector<float> packed_inputs(const Problem &p, uint32_t padded) {
    std::vector<float> packed(size_t{padded} * p.length * p.batch);
    for (size_t s = 0; s < p.batch; s++)
        for (size_t c = 0; c < p.channels; c++)
            for (size_t t = 0; t < p.length; t++)
                packed[(s * p.length + t) * padded + c] = p.inputs[(s * p.channels + c) * p.length + t];
    return packed;
}

} // namespace

Status write_kernels(const std::string &folder, std::span<const uint32_t> lengths, uint32_t channels) {
    LW_ASSIGN(const std::string kgen, cli::installed_program("longwave-kgen"));
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    for (const uint32_t length : lengths)
        for (const Points points : {Points::in_registers, Points::in_shared_memory}) {
            const bool registers = points == Points::in_registers;
            if (registers && !form_of(length, schedules::pad(channels))) continue;
            const std::string target = registers             ? register_target
                                       : length * 8 <= 16384 ? "vulkan-16k"
                                                             : "vulkan-32k";
            const std::string spec = fmt::format(
                R"({{"kernel":"{}","params":{{"channels":{},"copies":1,"length":{},"rows":{}}}}})",
                registers ? "long_conv_registers" : "long_conv_fused", channels, length, length);
            const std::string file =
                (fs::path(folder) / (name_of(points, length, channels) + ".spv")).string();
            LW_ASSIGN(const auto run, compiler::run_process({kgen, "--spec", spec, "--target", target,
                                                             "--symbol", "fused", "-o", file}));
            if (run.exit_code != 0) return Status::device(fmt::format("length {}: {}", length, run.output));
        }
    return {};
}

bool has_registers(const Problem &p) { return form_of(p.length, schedules::pad(p.channels)).has_value(); }

Expected<std::unique_ptr<Contestant>> fused(Gpu &gpu, const Problem &p, const std::string &folder,
                                            Points points) {
    const std::string base = (fs::path(folder) / name_of(points, p.length, p.channels)).string();
    LW_ASSIGN(const std::vector<uint8_t> code, compiler::read_bytes(base + ".spv"));
    LW_ASSIGN(const std::vector<uint8_t> text, compiler::read_bytes(base + ".json"));
    const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
    if (!json.is_object() || !json.contains("gpu") || code.size() % 4 != 0)
        return Status::input(base + ".json: is no kernel of longwave-kgen");
    std::vector<uint32_t> words(code.size() / 4);
    std::memcpy(words.data(), code.data(), code.size());

    auto made = std::make_unique<Fused>();
    made->gpu = &gpu;
    made->problem = &p;
    const auto &args = json["args"], &how = json["gpu"];
    const uint32_t padded = made->padded = args[0]["dims"][0][0], tile = args[1]["dims"][0][0];
    const bool registers = points == Points::in_registers;
    const std::optional<schedules::RegisterForm> form = form_of(p.length, padded);
    if (registers && !form) return Status::input(fmt::format("no form for {} rows", p.length));
    std::vector<float> table;
    if (registers) table = schedules::register_roots(form->radices);
    else
        for (const double value : schedules::right_angle_twiddles(p.length))
            table.push_back(static_cast<float>(value));
    const uint64_t sequence_bytes = uint64_t{padded} * p.length * 4;
    LW_ASSIGN(const Gpu::Buffer u, gpu.buffer(sequence_bytes * p.batch));
    LW_ASSIGN(made->y, gpu.buffer(sequence_bytes * p.batch));
    LW_ASSIGN(const Gpu::Buffer spectrum, gpu.buffer(uint64_t{padded} * 2 * p.length * 4));
    LW_ASSIGN(const Gpu::Buffer twiddles, gpu.buffer(std::max<size_t>(table.size(), 16) * 4));
    LW_TRY(gpu.upload(u, packed_inputs(p, padded)));
    LW_TRY(gpu.upload(spectrum,
                      registers ? spectrum_by_threads(p, padded, *form) : packed_spectrum(p, padded, tile)));
    LW_TRY(gpu.upload(twiddles, table));
    uint32_t bindings = 0;
    for (const auto &binding : how["bindings"])
        bindings = std::max(bindings, static_cast<uint32_t>(binding.get<int>() + 1));
    LW_ASSIGN(const Gpu::Kernel kernel, gpu.kernel(words, how["entry"], bindings));
    for (uint32_t s = 0; s < p.batch; s++) {
        std::vector<Gpu::Bound> bound(bindings);
        for (size_t a = 0; a < args.size(); a++) {
            const std::string name = args[a]["name"];
            const int at = how["bindings"][a];
            if (at < 0) continue;
            bound[static_cast<size_t>(at)] = name == "u"          ? Gpu::Bound{u, s * sequence_bytes}
                                             : name == "spectrum" ? Gpu::Bound{spectrum}
                                             : name == "twiddles" || name == "roots"
                                                 ? Gpu::Bound{twiddles}
                                                 : Gpu::Bound{made->y, s * sequence_bytes};
        }
        LW_ASSIGN(auto dispatch, gpu.bind(kernel, bound, how["grid"][0], how["grid"][1], how["grid"][2]));
        made->each.push_back(dispatch);
    }
    return std::unique_ptr<Contestant>(std::move(made));
}

} // namespace longwave::bench
