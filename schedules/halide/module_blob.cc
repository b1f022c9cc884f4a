#include "schedules/halide/module_blob.h"
#include "formats/spirv/module.h"
#include "schedules/halide/params.h"
#include <algorithm>

namespace longwave::schedules {

namespace {

void check(bool condition, const char *what) {
    if (!condition) throw SpecError(std::string("SPIR-V of Halide: ") + what);
}

class Words {
public:
    explicit Words(std::vector<uint32_t> words) : words_(std::move(words)) {}
    uint32_t next() {
        check(at_ < words_.size(), "the blob ends within its header");
        return words_[at_++];
    }
    std::string text() {
        const uint32_t count = next();
        check(count <= words_.size() - at_, "a name is longer than the blob");
        const char *first = reinterpret_cast<const char *>(words_.data() + at_);
        at_ += count;
        return {first, strnlen(first, size_t{count} * 4)};
    }
    size_t at() const { return at_; }
    std::vector<uint32_t> rest() const {
        return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()};
    }

private:
    std::vector<uint32_t> words_;
    size_t at_ = 0;
};

// Parses the module, with the fault in the words of this file.
spirv::Module parse(const std::vector<uint32_t> &words) {
    try {
        return spirv::Module::parse(words);
    } catch (const spirv::Fault &fault) {
        throw SpecError(std::string("SPIR-V of Halide: ") + fault.what());
    }
}

} // namespace

SpirvKernel read_blob(const uint8_t *bytes, size_t size) {
    check(size % 4 == 0, "the size of the blob is not a multiple of 4 bytes");
    std::vector<uint32_t> all(size / 4);
    std::copy_n(bytes, size, reinterpret_cast<uint8_t *>(all.data()));
    Words in(std::move(all));
    check(in.next() == 1, "the pipeline became several kernels; one dispatch is one kernel");
    const uint32_t module_bytes = in.next();
    in.text(); // the kernel's name, which is also that of its entry point
    check(size - in.at() * 4 == module_bytes, "the module is of another size than the blob says");
    const size_t header = in.at();
    const uint32_t header_words = in.next();
    check(in.next() == 1, "the kernel has several descriptor sets");
    SpirvKernel kernel;
    kernel.entry = in.text();
    kernel.uniform_buffers = in.next();
    kernel.storage_buffers = in.next();
    check(in.next() == 0, "the kernel has specialisation constants");
    for (uint32_t count = in.next(); count > 0; count--) {
        in.text();
        check(in.next() == 0, "shared memory has no constant size");
        const uint64_t element = in.next();
        kernel.shared_bytes += element * in.next();
    }
    for (int dimension = 0; dimension < 3; dimension++)
        check(in.next() == 0, "the workgroup has no constant size");
    check(in.at() == header + header_words, "the header is of another size than it says");
    kernel.words = in.rest();
    check(!kernel.words.empty() && kernel.words[0] == spirv_magic, "the header is not followed by a module");
    return kernel;
}

SpirvFacts read_facts(const std::vector<uint32_t> &words) {
    const spirv::Module module = parse(words);
    SpirvFacts facts{.local = module.local};
    check(facts.local[0] > 0, "the workgroup has no constant size");
    for (const auto &[variable, set] : module.sets) check(set == 0, "a buffer is not in descriptor set 0");
    for (const auto &[variable, buffer] : module.buffers) {
        const auto found = module.names.find(variable);
        const std::string name = found == module.names.end() ? "" : found->second; // "k1_" and the buffer's
        const size_t prefix = name.find('_');
        check(prefix != std::string::npos &&
                  facts.binding.emplace(name.substr(prefix + 1), buffer.binding).second,
              "a buffer has no name of its own");
    }
    return facts;
}

std::vector<uint32_t> without_contraction(const std::vector<uint32_t> &words) {
    spirv::Module module = parse(words);
    check(!module.declarations.empty(), "a module without types");
    spirv::each_instruction(module.functions, [&](spv::Op op, spirv::Operands operands) {
        if ((op == spv::OpFAdd || op == spv::OpFSub || op == spv::OpFMul) && operands.size() == 4)
            spirv::put(module.annotations, spv::OpDecorate, {operands[1], spv::DecorationNoContraction});
    });
    return module.assemble();
}

} // namespace longwave::schedules
