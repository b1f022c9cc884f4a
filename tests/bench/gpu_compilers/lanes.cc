#include "tests/bench/gpu_compilers/lanes.h"
#include "tests/bench/gpu_compilers/simulate.h"
#include <algorithm>

namespace longwave::bench {

using spirv::Operands, spirv::Words;

Code::Code(const spirv::Module &module) : module_(module) {
    spirv::expect(module.function_count == 1, "several functions");
    spirv::each_instruction(module.declarations, [&](spv::Op op, Operands o) { declare(op, o); });
    spirv::each_instruction(module.functions, [&](spv::Op op, Operands o) { add(op, o); });
    spirv::expect(!blocks_.empty() && module.local[0] > 0, "no code, or no constant number of threads");
}

void Code::declare(spv::Op op, Operands o) {
    if (op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer)
        types_[o[0]] = {op, Words(o.begin() + 1, o.end())};
    else if (op == spv::OpConstant) constants_[o[1]] = o[2];
    else if (op == spv::OpConstantTrue) constants_[o[1]] = 1;
    else if (op == spv::OpConstantFalse || op == spv::OpConstantNull) constants_[o[1]] = 0;
    else if (op == spv::OpVariable) add_variable(o);
}

void Code::add(spv::Op op, Operands o) {
    if (op == spv::OpFunction || op == spv::OpFunctionEnd) return;
    if (op == spv::OpLabel) {
        labels_[o[0]] = static_cast<uint32_t>(blocks_.size());
        blocks_.emplace_back();
        return;
    }
    if (op == spv::OpVariable) add_variable(o);
    if (op == spv::OpAccessChain || op == spv::OpInBoundsAccessChain) add_chain(o);
    blocks_.back().push_back({op, o});
}

void Code::add_variable(Operands o) {
    Pointer p{.variable = o[1]};
    p.place = o[2] == spv::StorageClassInput                                          ? Place::input
              : o[2] == spv::StorageClassWorkgroup                                    ? Place::shared
              : o[2] == spv::StorageClassFunction || o[2] == spv::StorageClassPrivate ? Place::own
                                                                                      : Place::global;
    const auto built_in = module_.built_ins.find(o[1]);
    if (built_in != module_.built_ins.end()) p.built_in = built_in->second;
    variable_types_[o[1]] = o[0];
    pointers_[o[1]] = p;
}

void Code::add_chain(Operands o) {
    Pointer p = pointers_.at(o[2]);
    p.indexed = true;
    p.element_bytes = bytes(types_.at(o[0]).operands[1]);
    indexed_private_ = indexed_private_ || (p.place == Place::own && !constants_.contains(o.back()));
    pointers_[o[1]] = p;
}

uint32_t Code::bytes(uint32_t type) const {
    const Type &t = types_.at(type);
    if (t.op == spv::OpTypeVector) return t.operands[1] * bytes(t.operands[0]);
    return t.op == spv::OpTypeInt || t.op == spv::OpTypeFloat ? t.operands[0] / 8 : 4;
}

uint32_t Code::width(uint32_t type) const {
    const Type &t = types_.at(type);
    return t.op == spv::OpTypeVector ? t.operands[1] : 1;
}

std::string Code::name(uint32_t variable) const {
    const auto found = module_.names.find(variable);
    return found == module_.names.end() ? "%" + std::to_string(variable) : found->second;
}

uint32_t Code::own_elements(uint32_t variable) const {
    const Type &pointee = types_.at(types_.at(variable_types_.at(variable)).operands[1]);
    return pointee.op == spv::OpTypeArray ? constants_.at(pointee.operands[1]) : 1;
}

Lanes::Lanes(const Code &code)
    : code_(code), count_(code.local()[0] * code.local()[1] * code.local()[2]), at_(count_, 0),
      values_(code.bound()) {
    // Any lane, any component.
    for (const auto &[id, bits] : code.constants()) values_[id].assign(4 * count_, bits);
}

std::optional<uint32_t> Lanes::next_block() {
    const uint32_t next = *std::min_element(at_.begin(), at_.end());
    if (next == ended) return std::nullopt;
    active_.clear();
    warps_.clear();
    for (uint32_t lane = 0; lane < count_; lane++)
        if (at_[lane] == next) active_.push_back(lane);
    const uint32_t *const end = active_.data() + active_.size();
    for (const uint32_t *first = active_.data(); first != end;) {
        const uint32_t *last = first;
        while (last != end && *last / warp_lanes == *first / warp_lanes) last++;
        warps_.emplace_back(first, last);
        first = last;
    }
    return next;
}

const uint32_t *Lanes::value(uint32_t id) {
    if (values_[id].empty()) values_[id].resize(4 * count_);
    return values_[id].data();
}

std::vector<uint32_t> &Lanes::own(uint32_t variable) {
    std::vector<uint32_t> &memory = own_[variable];
    if (memory.empty()) memory.resize(size_t{code_.own_elements(variable)} * count_);
    return memory;
}

ModuleFacts facts_of(const spirv::Module &module) {
    ModuleFacts facts;
    facts.float64 = module.find_type(spv::OpTypeFloat, {64}) != 0;
    facts.int64 =
        module.find_type(spv::OpTypeInt, {64, 0}) != 0 || module.find_type(spv::OpTypeInt, {64, 1}) != 0;
    facts.indexed_private = Code(module).indexed_private();
    return facts;
}

} // namespace longwave::bench
