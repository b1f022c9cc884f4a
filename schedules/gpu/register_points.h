// The points of a transform that a workgroup has in registers (schedules/contract/register_transform.h):
// its passes forward and back, and the exchanges through shared memory between them.
#pragma once
#include "schedules/gpu/butterflies.h"
#include <vector>

namespace longwave::gpu {

// The table of roots of the whole transform. The workgroup's transform, whose first pass is `first`
// of the whole, is the whole or one block of it.
struct RootTable {
    Memory memory;
    schedules::Radices radices;
    size_t first = 0;
};

class RegisterPoints {
public:
    // `block`: the workgroup's block before pass `first`.
    RegisterPoints(Program &program, const schedules::RegisterForm &form, const RootTable &roots, Uint block);

    // Of this thread, by slot: form.slots() of the pass.
    std::vector<Complex> x;
    Uint worker() const { return worker_; }
    Uint lane() const { return lane_; }
    // Where the workgroup's transform has the point of a slot in a pass. The variable part is that of
    // all slots of a butterfly.
    struct Place {
        Uint variable;
        uint32_t offset = 0;
    };
    Place position(size_t pass, uint32_t slot) const;
    // The body is for workers that have the butterfly of the slot (RegisterForm::complete).
    void when_worker_has(size_t pass, uint32_t slot, const std::function<void()> &body) const;

    void forward();
    void back();
    // Between two transforms. Compilers keep addresses and roots of one in registers for the other,
    // and then spill. A zero that only memory knows hides that the worker is the same. `which`: 0 to 3.
    void hide_worker(size_t which);

private:
    Uint number(size_t pass, uint32_t butterfly) const; // of all butterflies of the pass
    Uint first_position(size_t pass, uint32_t butterfly) const;
    Roots roots_of(size_t pass, uint32_t butterfly);
    Complex constant_root(const schedules::RootKey &key);
    const std::vector<Place> &addresses(size_t pass); // in shared memory, by slot
    // A part, 0 or 1, to and from shared memory from `offset` on.
    void store(std::vector<Complex> &points, size_t pass, int part, uint32_t offset);
    void load(std::vector<Complex> &points, size_t pass, int part, uint32_t offset);
    void exchange(size_t from, size_t to);

    Program &p_;
    const schedules::RegisterForm form_;
    const RootTable roots_;
    const schedules::BankFold fold_;
    const Uint block_;
    Uint worker_, lane_;
    bool back_ = false;
    int first_part_ = 0;
    std::vector<std::vector<Place>> addresses_; // by pass
};

} // namespace longwave::gpu
