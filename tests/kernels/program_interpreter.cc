#include "tests/kernels/program_interpreter.h"
#include <bit>
#include <fmt/format.h>
#include <map>

namespace longwave::test {

namespace {

using gpu::Instruction, gpu::Op;

constexpr uint32_t nobody = UINT32_MAX;

// Which thread has accessed an element since the last barrier.
struct Accesses {
    uint32_t writer = nobody, reader = nobody;
    bool several_readers = false;
};

class Workgroup {
public:
    Workgroup(const gpu::Program &program, std::vector<std::vector<float>> &buffers)
        : program_(program), buffers_(buffers),
          threads_(program.local()[0] * program.local()[1] * program.local()[2]),
          values_(program.value_count(), std::vector<uint32_t>(threads_)) {
        for (uint32_t value = 0; value < program.value_count(); value++)
            if (program.value(value).constant) values_[value].assign(threads_, program.value(value).bits);
    }

    std::string run(const std::array<uint32_t, 3> &group) {
        group_ = group;
        first_thread_ = number_++ * threads_;
        // A kernel that reads what it has not written sees numbers that spoil its results.
        shared_.assign(program_.shared_floats(), std::bit_cast<uint32_t>(1e30f));
        accesses_.assign(program_.shared_floats() / program_.shared_width(), {});
        active_.assign(1, std::vector<bool>(threads_, true));
        registers_.assign(program_.registers().size(), std::vector<uint32_t>(threads_));
        loops_.clear();
        for (at_ = 0; at_ < program_.instructions().size() && fault_.empty(); at_++)
            execute(program_.instructions()[at_]);
        return fault_;
    }

private:
    template <class Body> void each(const Body &body) {
        for (uint32_t thread = 0; thread < threads_ && fault_.empty(); thread++)
            if (active_.back()[thread]) body(thread);
    }
    uint32_t value(const Instruction &one, size_t operand, uint32_t thread) const {
        return values_[one.operands[operand]][thread];
    }

    void execute(const Instruction &one) {
        switch (one.op) {
        case Op::thread: return each([&](uint32_t t) { values_[one.result][t] = t; });
        case Op::group: return each([&](uint32_t t) { values_[one.result][t] = group_[one.operands[0]]; });
        case Op::load: return each([&](uint32_t t) { load(one, t); });
        case Op::store: return each([&](uint32_t t) { store(one, t); });
        case Op::load_shared: return each([&](uint32_t t) { load_shared(one, t); });
        case Op::store_shared: return each([&](uint32_t t) { store_shared(one, t); });
        case Op::barrier:
            if (active_.size() > 1) fault_ = "a barrier inside a guard";
            accesses_.assign(accesses_.size(), {});
            return;
        case Op::begin_if: {
            std::vector<bool> inside = active_.back();
            each([&](uint32_t t) { inside[t] = value(one, 0, t) != 0; });
            active_.push_back(inside);
            return;
        }
        case Op::end_if: active_.pop_back(); return;
        case Op::get: return each([&](uint32_t t) { values_[one.result][t] = registers_[one.memory][t]; });
        case Op::set: return each([&](uint32_t t) { registers_[one.memory][t] = value(one, 0, t); });
        case Op::begin_loop: loops_.push_back(at_); return;
        case Op::end_loop: return end_loop(one);
        default:
            each([&](uint32_t t) {
                std::array<uint32_t, 3> bits{};
                for (size_t i = 0; i < bits.size(); i++) bits[i] = value(one, i, t);
                values_[one.result][t] = gpu::evaluate(one.op, bits);
            });
        }
    }

    // All threads iterate equally often, and at least once.
    void end_loop(const Instruction &one) {
        const Instruction &begin = program_.instructions()[loops_.back()];
        bool goes_on = false, ends = false;
        each([&](uint32_t t) {
            const bool more = ++registers_[one.memory][t] < value(begin, 0, t);
            goes_on = goes_on || more, ends = ends || !more;
        });
        if (goes_on && ends) fault_ = "threads that leave a loop earlier than others";
        if (goes_on) at_ = loops_.back();
        else loops_.pop_back();
    }

    bool inside(const Instruction &one, uint32_t thread, size_t elements, const std::string &memory) {
        const uint32_t at = value(one, 0, thread);
        if (at < elements) return true;
        fault_ =
            fmt::format("thread {} accesses element {} of {}, which has {}", thread, at, memory, elements);
        return false;
    }

    void load(const Instruction &one, uint32_t thread) {
        const gpu::Buffer &buffer = program_.buffers()[one.memory];
        const std::vector<float> &memory = buffers_[one.memory];
        if (!inside(one, thread, memory.size() / buffer.width, buffer.name)) return;
        for (uint32_t i = 0; i < buffer.width; i++)
            values_[one.result + i][thread] =
                std::bit_cast<uint32_t>(memory[size_t{value(one, 0, thread)} * buffer.width + i]);
    }

    void store(const Instruction &one, uint32_t thread) {
        const gpu::Buffer &buffer = program_.buffers()[one.memory];
        std::vector<float> &memory = buffers_[one.memory];
        if (!inside(one, thread, memory.size() / buffer.width, buffer.name)) return;
        const uint32_t at = value(one, 0, thread), self = first_thread_ + thread;
        const auto [other, first] = stored_.try_emplace({one.memory, at}, self);
        if (buffer.access == gpu::Access::read) fault_ = buffer.name + " is only read";
        if (other->second != self)
            fault_ = fmt::format("threads {} and {} of the dispatch store to element {} of {}", self,
                                 other->second, at, buffer.name);
        for (uint32_t i = 0; i < buffer.width; i++)
            memory[size_t{at} * buffer.width + i] = std::bit_cast<float>(value(one, 1 + i, thread));
    }

    void load_shared(const Instruction &one, uint32_t thread) {
        const uint32_t width = program_.shared_width();
        if (!inside(one, thread, shared_.size() / width, "shared memory")) return;
        const uint32_t at = value(one, 0, thread);
        Accesses &element = accesses_[at];
        if (element.writer != nobody && element.writer != thread) return race(thread, at, element.writer);
        element.several_readers =
            element.several_readers || (element.reader != nobody && element.reader != thread);
        element.reader = thread;
        for (uint32_t i = 0; i < width; i++) values_[one.result + i][thread] = shared_[at * width + i];
    }

    void store_shared(const Instruction &one, uint32_t thread) {
        const uint32_t width = program_.shared_width();
        if (!inside(one, thread, shared_.size() / width, "shared memory")) return;
        const uint32_t at = value(one, 0, thread);
        Accesses &element = accesses_[at];
        if (element.writer != nobody && element.writer != thread) return race(thread, at, element.writer);
        if (element.several_readers || (element.reader != nobody && element.reader != thread))
            return race(thread, at, element.reader);
        element.writer = thread;
        for (uint32_t i = 0; i < width; i++) shared_[at * width + i] = value(one, 1 + i, thread);
    }

    void race(uint32_t thread, uint32_t at, uint32_t other) {
        fault_ = fmt::format("threads {} and {} access element {} of shared memory with no barrier between",
                             thread, other, at);
    }

    const gpu::Program &program_;
    std::vector<std::vector<float>> &buffers_;
    const uint32_t threads_;
    std::array<uint32_t, 3> group_{};
    uint32_t number_ = 0, first_thread_ = 0;                   // of the workgroup in the dispatch
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> stored_; // which thread, by buffer and element
    std::vector<std::vector<uint32_t>> values_;                // by value and thread
    std::vector<uint32_t> shared_;
    std::vector<Accesses> accesses_;
    std::vector<std::vector<bool>> active_; // of the open guards
    std::vector<std::vector<uint32_t>> registers_;
    size_t at_ = 0;             // the instruction
    std::vector<size_t> loops_; // where the open ones begin
    std::string fault_;
};

} // namespace

Interpreted interpret(const gpu::Program &program, std::vector<std::vector<float>> &buffers) {
    const auto &grid = program.grid();
    Workgroup workgroup(program, buffers);
    for (uint32_t z = 0; z < grid[2]; z++)
        for (uint32_t y = 0; y < grid[1]; y++)
            for (uint32_t x = 0; x < grid[0]; x++)
                if (std::string fault = workgroup.run({x, y, z}); !fault.empty()) return {fault};
    return {};
}

} // namespace longwave::test
