// One module out of several: their types, imports and variables under common ids, and what is
// declared for all of them.
#pragma once
#include "formats/spirv/module.h"
#include <set>

namespace longwave::spirv {

class ChainModule {
public:
    ChainModule() { made_.header = {spirv_magic, 0x00010000, 0, 1, 0}; }

    // The part with ids of the chain. Its types, constants and variables become the chain's, but for
    // its inputs and its shared memory, which the chain replaces. Throws Fault for several functions.
    Module take(const Words &part);

    uint32_t id() { return made_.new_id(); }
    // Declared at first use.
    uint32_t type(spv::Op op, std::initializer_list<uint32_t> operands);
    uint32_t type_uint() { return type(spv::OpTypeInt, {32, 0}); }
    uint32_t type_bool() { return type(spv::OpTypeBool, {}); }
    uint32_t type_triple() { return type(spv::OpTypeVector, {type_uint(), 3}); }
    uint32_t constant(uint32_t word);

    void declare(spv::Op op, Operands operands) { put(made_.declarations, op, operands); }
    void declare(spv::Op op, std::initializer_list<uint32_t> operands) {
        put(made_.declarations, op, operands);
    }
    void annotate(spv::Op op, Operands operands) { put(made_.annotations, op, operands); }
    void annotate(spv::Op op, std::initializer_list<uint32_t> operands) {
        put(made_.annotations, op, operands);
    }
    void decorate(std::initializer_list<uint32_t> operands) { annotate(spv::OpDecorate, operands); }

    // The whole module: a function without arguments or result of this code, whose inputs are the
    // variables `inputs`, for `threads` x 1 x 1 threads.
    Words assemble(Operands code, std::initializer_list<uint32_t> inputs, uint32_t threads);

private:
    void take_preamble(const Module &part, std::map<uint32_t, uint32_t> &numbers);
    void find_types(const Module &part, std::map<uint32_t, uint32_t> &numbers);
    void write_preamble(uint32_t main, std::initializer_list<uint32_t> inputs, uint32_t threads);

    Module made_;
    std::set<uint32_t> capabilities_;
    std::set<std::string> extensions_;
    std::map<std::string, uint32_t> imports_;
    std::map<uint32_t, std::string> names_; // of buffers
    std::map<Words, uint32_t> types_;       // ids by instruction and operands
    std::set<uint32_t> declared_;           // those of types_ that stand in the declarations
    std::map<uint32_t, uint32_t> constants_;
};

} // namespace longwave::spirv
