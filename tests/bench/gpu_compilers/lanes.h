// The threads of a workgroup for simulate.cc: what a module says, decoded once, and what every lane
// holds.
#pragma once
#include "formats/spirv/module.h"
#include <array>
#include <optional>
#include <spirv/unified1/GLSL.std.450.h>
#include <utility>
#include <vector>

namespace longwave::bench {

inline constexpr uint32_t warp_lanes = 32;

struct Instruction {
    spv::Op op;
    spirv::Operands operands;
};
using Block = std::vector<Instruction>;

enum class Place : uint8_t { global, shared, own, input };
struct Pointer {
    Place place = Place::global;
    uint32_t variable = 0;
    bool indexed = false; // an element of an array, whose index is the value of the pointer
    uint32_t element_bytes = 4;
    uint32_t built_in = 0; // of inputs
};

// The one function of a module as blocks, and its types and constants.
class Code {
public:
    // `module` must outlive it. Throws spirv::Fault for a module of another form.
    explicit Code(const spirv::Module &module);

    const std::vector<Block> &blocks() const { return blocks_; }
    uint32_t block_of(uint32_t label) const { return labels_.at(label); }
    const std::array<uint32_t, 3> &local() const { return module_.local; }
    uint32_t bound() const { return module_.header[spirv::Module::bound]; }
    uint32_t width(uint32_t type) const; // components of a value
    Pointer pointer(uint32_t id) const { return pointers_.at(id); }
    std::string name(uint32_t variable) const;
    uint32_t own_elements(uint32_t variable) const; // of a private array; 1: of a scalar
    const std::map<uint32_t, uint32_t> &constants() const { return constants_; } // bits by id
    // A private array that some index needs in memory.
    bool indexed_private() const { return indexed_private_; }

private:
    void declare(spv::Op op, spirv::Operands o);
    void add(spv::Op op, spirv::Operands o);
    void add_variable(spirv::Operands o);
    void add_chain(spirv::Operands o);
    uint32_t bytes(uint32_t type) const;

    struct Type {
        spv::Op op = spv::OpTypeVoid;
        spirv::Words operands;
    };
    const spirv::Module &module_;
    std::map<uint32_t, Type> types_;
    std::map<uint32_t, uint32_t> constants_, labels_, variable_types_;
    std::map<uint32_t, Pointer> pointers_;
    std::vector<Block> blocks_;
    bool indexed_private_ = false;
};

// The values and the program counter of every lane. Lanes that wait for others wait at the first
// block in the order of the module, which is where structured control flow meets again.
class Lanes {
public:
    explicit Lanes(const Code &code);

    uint32_t count() const { return count_; }
    // Makes the lanes of the first waiting block the active ones; nothing: all lanes have ended.
    std::optional<uint32_t> next_block();
    // Active lanes by warp.
    const std::vector<std::pair<const uint32_t *, const uint32_t *>> &warps() const { return warps_; }
    void end() { go(ended); }
    void go(uint32_t block) {
        for (const uint32_t lane : active_) at_[lane] = block;
    }
    void go(uint32_t yes, uint32_t no, const uint32_t *condition) {
        for (const uint32_t lane : active_) at_[lane] = condition[lane] ? yes : no;
    }

    template <class F> void each(const F &f) const {
        for (const uint32_t lane : active_) f(lane);
    }
    // Component c of lane l is element c * count() + l.
    const uint32_t *value(uint32_t id);
    template <class F> void set(uint32_t id, uint32_t width, const F &f) {
        std::vector<uint32_t> &to = values_[id];
        if (to.size() < width * count_) to.resize(width * count_);
        for (uint32_t part = 0; part < width; part++)
            for (const uint32_t lane : active_) to[part * count_ + lane] = f(part * count_ + lane);
    }

    std::vector<uint32_t> &own(uint32_t variable);
    // Where an element of a lane's array lies; indices outside of it mean its ends.
    uint32_t own_at(const uint32_t *index, const std::vector<uint32_t> &memory, uint32_t lane) const {
        const uint32_t last = static_cast<uint32_t>(memory.size()) / count_ - 1;
        return (index ? std::min(index[lane], last) : 0) * count_ + lane;
    }

private:
    static constexpr uint32_t ended = UINT32_MAX;
    const Code &code_;
    const uint32_t count_;
    std::vector<uint32_t> at_, active_;
    std::vector<std::pair<const uint32_t *, const uint32_t *>> warps_;
    std::vector<std::vector<uint32_t>> values_;
    std::map<uint32_t, std::vector<uint32_t>> own_;
};

} // namespace longwave::bench
