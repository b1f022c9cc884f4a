// The GPU modules of compiled models, as the runtime hands them to a driver: each becomes a file,
// and a line of JSON says what it is and what it asks of memory.
//     gpu_modules FOLDER MODEL.lw...
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_schema.h"
#include "formats/artifact/verify.h"
#include "tests/bench/gpu_compilers/simulate.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

using namespace longwave;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr uint64_t most_memory = uint64_t{64} << 30; // nothing is run
constexpr uint64_t most_instructions = 1 << 20; // of a simulated workgroup: a second for the longest kernels

struct Failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The file in memory as artifacts need it: 64-aligned.
struct File {
    std::unique_ptr<uint8_t, void (*)(void *)> bytes{nullptr, free};
    size_t size = 0;

    explicit File(const fs::path &path) {
        std::error_code error;
        size = static_cast<size_t>(fs::file_size(path, error));
        if (error) throw Failed(path.string() + ": cannot be read");
        bytes.reset(static_cast<uint8_t *>(std::aligned_alloc(64, (size + 63) / 64 * 64)));
        std::ifstream stream(path, std::ios::binary);
        if (!bytes || !stream.read(reinterpret_cast<char *>(bytes.get()), static_cast<std::streamsize>(size)))
            throw Failed(path.string() + ": cannot be read");
    }
};

uint32_t descriptors_of(const spirv::Module &module) {
    uint32_t count = 0;
    for (const auto &[variable, buffer] : module.buffers) count = std::max(count, buffer.binding + 1);
    return count;
}

Json simulated(const spirv::Module &module) {
    const bench::Simulation made = bench::simulate(module, most_instructions);
    Json json = {
        {"complete", made.complete}, {"barriers", made.barriers}, {"instructions", made.instructions}};
    uint64_t requests = 0, sectors = 0;
    double worst = 0;
    for (const auto &[name, buffer] : made.buffers) {
        requests += buffer.requests, sectors += buffer.sectors;
        const double each = buffer.sectors_per_4_bytes();
        if (each > worst) worst = each, json["worst_buffer"] = name;
    }
    json["requests"] = requests, json["sectors"] = sectors, json["worst_sectors"] = worst;
    json["shared"] = {made.shared_requests, made.shared_wavefronts, made.shared_ideal};
    return json;
}

// Writes the module to the file that `about` names, and a line of JSON.
void write_module(const fs::path &folder, const artifact::Bytes &code, Json about) {
    spirv::Words words(code.size / 4);
    std::memcpy(words.data(), code.data, code.size);
    const spirv::Module module = spirv::Module::parse(words);
    const bench::ModuleFacts facts = bench::facts_of(module);
    std::ofstream(folder / about["file"].get<std::string>(), std::ios::binary)
        .write(reinterpret_cast<const char *>(code.data), static_cast<std::streamsize>(code.size));
    about["descriptors"] = descriptors_of(module);
    about["float64"] = facts.float64;
    about["int64"] = facts.int64;
    about["indexed_private"] = facts.indexed_private;
    about["simulation"] = simulated(module);
    std::cout << about.dump() << "\n";
}

// What tells a chain from others of its model: its block, and its first and last step.
Json about_chain(const fb::Plan &plan, const fb::Chain &chain) {
    const fb::Entry &entry = *plan.entries()->Get(chain.entry());
    const auto name = [&](uint32_t step) { return entry.steps()->Get(step)->name()->str(); };
    return {{"block", entry.block()},
            {"from", name(chain.first())},
            {"to", name(chain.first() + chain.steps() - 1)},
            {"steps", chain.steps()}};
}

void write_modules(const fs::path &folder, const fs::path &model) {
    const File file(model);
    artifact::View view;
    artifact::Request request{
        .file = file.bytes.get(), .size = file.size, .memory_limit = most_memory, .check_hashes = false};
    if (const artifact::Broken broken = artifact::verify(request, &view))
        throw Failed(fmt::format("{}: rule V{}: {}", model.string(), broken.rule, broken.text));
    const fb::Plan &plan = view.plan();
    for (uint32_t s = 0; s < plan.segments()->size(); s++) {
        if (plan.segments()->Get(s)->kind() != fb::SegmentKind::modules) continue;
        artifact::ModulesView modules;
        if (const artifact::Broken broken = artifact::open_modules(plan, view.segment(s), &modules))
            throw Failed(fmt::format("{}: rule V{}: {}", model.string(), broken.rule, broken.text));
        const std::string name = model.stem().string();
        for (const fb::Module *first : *modules.manifest().modules())
            for (uint32_t v = 0; v < modules.variants_of(first->kernel()); v++) {
                const fb::Module &one = modules.variant(first->kernel(), v);
                const Json about = {{"model", name},
                                    {"file", fmt::format("{}.{:02}.{}.spv", name, one.kernel(), v)},
                                    {"spec", plan.kernels()->Get(one.kernel())->spec()->str()},
                                    {"variant", v},
                                    {"entry", one.entry()->str()},
                                    {"grid", {one.grid()->x(), one.grid()->y(), one.grid()->z()}},
                                    {"local", {one.local()->x(), one.local()->y(), one.local()->z()}},
                                    {"shared_bytes", one.shared_bytes()}};
                write_module(folder, modules.code(one), about);
            }
        std::set<uint32_t> places;
        for (uint32_t c = 0; c < modules.chain_count(); c++) {
            const fb::Chain &chain = modules.chain(c);
            if (!places.insert(chain.offset()).second) continue; // the code of an earlier chain
            const Json spec = {{"kernel", "chain"}, {"params", about_chain(plan, chain)}};
            const Json about = {{"model", name},
                                {"file", fmt::format("{}.chain{:02}.spv", name, c)},
                                {"spec", spec.dump()},
                                {"variant", 0},
                                {"entry", "main"},
                                {"grid", {1, 1, 1}},
                                {"local", {chain.threads(), 1, 1}},
                                {"shared_bytes", chain.shared_bytes()}};
            write_module(folder, modules.code(chain), about);
        }
    }
}

} // namespace

int main(int count, char **arguments) try {
    if (count < 3) throw Failed("expected FOLDER MODEL.lw...");
    for (int i = 2; i < count; i++) write_modules(arguments[1], arguments[i]);
    return 0;
} catch (const std::exception &failed) {
    std::cerr << "gpu_modules: " << failed.what() << "\n";
    return 1;
}
