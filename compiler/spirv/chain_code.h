// The code of a chain while it is written: values, barriers, branches and loops.
#pragma once
#include "compiler/spirv/chain_module.h"
#include <array>

namespace longwave::spirv {

class ChainCode {
public:
    explicit ChainCode(ChainModule &module) : module_(module) {}

    ChainModule &module() { return module_; }
    void write(spv::Op op, Operands operands) { put(body_, op, operands); }
    void write(spv::Op op, std::initializer_list<uint32_t> operands) { put(body_, op, operands); }
    uint32_t value(spv::Op op, uint32_t type, std::initializer_list<uint32_t> operands);
    uint32_t number(spv::Op op, std::initializer_list<uint32_t> operands) {
        return value(op, module_.type_uint(), operands);
    }
    uint32_t truth(spv::Op op, std::initializer_list<uint32_t> operands) {
        return value(op, module_.type_bool(), operands);
    }
    // A variable of the function, which stands before all code.
    void add_variable(Operands operands) { put(variables_, spv::OpVariable, operands); }

    uint32_t divide(uint32_t a, uint32_t by);
    uint32_t modulo(uint32_t a, uint32_t by);
    // The coordinates of number `a` in a box.
    uint32_t triple(uint32_t a, const std::array<uint32_t, 3> &box);

    // All threads of the workgroup wait for each other, and see what the others wrote.
    void barrier();
    // for (i = first; i < end; i += step) body(i, next). The body ends with a branch to `next`.
    template <class Body> void loop(uint32_t first, uint32_t end, uint32_t step, const Body &body) {
        const Loop made = begin_loop(first, end);
        body(made.now, made.next);
        end_loop(made, step);
    }

    Words take();

private:
    struct Loop {
        uint32_t counter = 0, head = 0, next = 0, end = 0; // the variable, and labels
        uint32_t now = 0;                                  // the value of the counter
    };
    Loop begin_loop(uint32_t first, uint32_t end_at);
    void end_loop(const Loop &loop, uint32_t step);

    ChainModule &module_;
    Words variables_, body_;
};

} // namespace longwave::spirv
