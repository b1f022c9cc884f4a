#include "schedules/gpu/spirv.h"
#include "schedules/params.h"
#include <cstring>
#include <functional>
#include <span>

namespace longwave::schedules {

namespace {

// Khronos SPIR-V specification 1.6, sections 2.3 and 3.
constexpr uint32_t spirv_magic = 0x07230203;
constexpr size_t spirv_header = 5; // words
enum Op : uint32_t {
    op_name = 5,
    op_execution_mode = 16,
    op_type_void = 19, // the first that may follow the decorations
    op_type_forward_pointer = 39,
    op_decorate = 71,
    op_f_add = 129,
    op_f_sub = 131,
    op_f_mul = 133,
};
constexpr uint32_t mode_local_size = 17, decoration_binding = 33, decoration_descriptor_set = 34,
                   decoration_no_contraction = 42;

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

// Calls f(op, operands) for each instruction.
using Visit = std::function<void(uint32_t op, std::span<const uint32_t> operands, size_t at)>;
void each_instruction(const std::vector<uint32_t> &words, const Visit &f) {
    check(words.size() > spirv_header && words[0] == spirv_magic, "no module");
    for (size_t at = spirv_header; at < words.size();) {
        const uint32_t count = words[at] >> 16;
        check(count > 0 && count <= words.size() - at, "an instruction ends behind the module");
        f(words[at] & 0xffff, std::span(words).subspan(at + 1, count - 1), at);
        at += count;
    }
}

std::string text_of(std::span<const uint32_t> words) {
    const char *first = reinterpret_cast<const char *>(words.data());
    return {first, strnlen(first, words.size_bytes())};
}

} // namespace

SpirvKernel read_blob(const uint8_t *bytes, size_t size) {
    check(size % 4 == 0, "the blob is no whole number of words");
    std::vector<uint32_t> all(size / 4);
    std::memcpy(all.data(), bytes, size);
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
    SpirvFacts facts;
    std::map<uint32_t, std::string> names;
    std::map<uint32_t, uint32_t> bindings;
    each_instruction(words, [&](uint32_t op, std::span<const uint32_t> operands, size_t) {
        if (op == op_name && operands.size() > 1) names[operands[0]] = text_of(operands.subspan(1));
        if (op == op_execution_mode && operands.size() == 5 && operands[1] == mode_local_size)
            facts.local = {operands[2], operands[3], operands[4]};
        if (op != op_decorate || operands.size() != 3) return;
        if (operands[1] == decoration_binding) bindings[operands[0]] = operands[2];
        check(operands[1] != decoration_descriptor_set || operands[2] == 0,
              "a buffer is not in descriptor set 0");
    });
    check(facts.local[0] > 0, "the workgroup has no constant size");
    for (const auto &[id, binding] : bindings) {
        const std::string &name = names[id]; // "k1_" and the buffer's
        const size_t prefix = name.find('_');
        check(prefix != std::string::npos && facts.binding.emplace(name.substr(prefix + 1), binding).second,
              "a buffer has no name of its own");
    }
    return facts;
}

std::vector<uint32_t> without_contraction(const std::vector<uint32_t> &words) {
    std::vector<uint32_t> decorations;
    size_t types = 0;
    each_instruction(words, [&](uint32_t op, std::span<const uint32_t> operands, size_t at) {
        if (types == 0 && op >= op_type_void && op <= op_type_forward_pointer) types = at;
        if ((op == op_f_add || op == op_f_sub || op == op_f_mul) && operands.size() == 4)
            decorations.insert(decorations.end(),
                               {3u << 16 | op_decorate, operands[1], decoration_no_contraction});
    });
    check(types > 0, "a module without types");
    std::vector<uint32_t> result = words;
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(types), decorations.begin(),
                  decorations.end());
    return result;
}

} // namespace longwave::schedules
