// Our kernel as longwave-kgen makes it, from a folder, so that it also runs where there is no compiler.
#include "compiler/codegen/process.h"
#include "tests/bench/vulkan/problem.h"
#include "tests/support/right_angle.h"
#include "tools/cli/process/installed_program.h"
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace longwave::bench {
namespace {

namespace fs = std::filesystem;

std::string name_of(uint32_t length, uint32_t channels) {
    return fmt::format("conv-{}-{}", length, channels);
}

class Fused : public Contestant {
public:
    std::string name() const override { return "longwave"; }
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
    std::vector<float> packed(size_t{padded} * 2 * p.length);
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
    for (const uint32_t length : lengths) {
        const std::string target = length * 8 <= 16384 ? "vulkan-16k" : "vulkan-32k";
        const std::string spec = fmt::format(
            R"({{"kernel":"long_conv_fused","params":{{"channels":{},"copies":1,"length":{},"rows":{}}}}})",
            channels, length, length);
        LW_ASSIGN(const auto run, compiler::run_process(
                                      {kgen, "--spec", spec, "--target", target, "--symbol", "fused", "-o",
                                       (fs::path(folder) / (name_of(length, channels) + ".spv")).string()}));
        if (run.exit_code != 0) return Status::device(fmt::format("length {}: {}", length, run.output));
    }
    return {};
}

Expected<std::unique_ptr<Contestant>> fused(Gpu &gpu, const Problem &p, const std::string &folder) {
    const std::string base = (fs::path(folder) / name_of(p.length, p.channels)).string();
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
    const auto table = schedules::right_angle_twiddles(p.length);
    const uint64_t sequence_bytes = uint64_t{padded} * p.length * 4;
    LW_ASSIGN(const Gpu::Buffer u, gpu.buffer(sequence_bytes * p.batch));
    LW_ASSIGN(made->y, gpu.buffer(sequence_bytes * p.batch));
    LW_ASSIGN(const Gpu::Buffer spectrum, gpu.buffer(uint64_t{padded} * 2 * p.length * 4));
    LW_ASSIGN(const Gpu::Buffer twiddles, gpu.buffer(std::max<size_t>(table.size(), 16) * 4));
    LW_TRY(gpu.upload(u, packed_inputs(p, padded)));
    LW_TRY(gpu.upload(spectrum, packed_spectrum(p, padded, tile)));
    LW_TRY(gpu.upload(twiddles, std::vector<float>(table.begin(), table.end())));
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
                                             : name == "twiddles" ? Gpu::Bound{twiddles}
                                                                  : Gpu::Bound{made->y, s * sequence_bytes};
        }
        LW_ASSIGN(auto dispatch, gpu.bind(kernel, bound, how["grid"][0], how["grid"][1], how["grid"][2]));
        made->each.push_back(dispatch);
    }
    return std::unique_ptr<Contestant>(std::move(made));
}

} // namespace longwave::bench
