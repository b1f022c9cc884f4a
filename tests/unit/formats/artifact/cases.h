// Sound plans made unsound in one place, and the rule that must say so.
#pragma once
#include "tests/support/broken.h"
#include <functional>
#include <span>

namespace longwave::test {

// Entries, kernels and segments of audio_model and family_model.
enum : size_t { prepare, stream, run, small_stream, large_stream };
enum : size_t { k_square, k_fir_stream, k_fir_run, k_sum, k_mean, k_fir_2, k_fir_8, k_copy };
enum : size_t { code, weights };

struct Case {
    const char *name;
    int rule;
    std::function<void(Draft &)> edit;
};

// Each edit of `model` is refused by its rule.
void check_cases(Draft (*model)(), std::span<const Case> cases);

// Sound, or a failure that says what is broken.
void check_sound(const Draft &draft, const char *name = "");

inline fb::EntryT &entry(Draft &d, size_t index) { return *d.plan.entries[index]; }
inline fb::StepT &step(Draft &d, size_t entry, size_t index) { return *d.plan.entries[entry]->steps[index]; }
inline fb::Place &place(Draft &d, size_t entry, size_t index, size_t arg) {
    return *step(d, entry, index).args[arg]->place;
}
void move_to(fb::Place &p, uint64_t offset);
void into(fb::Place &p, fb::Space space);
void repeat(std::vector<std::unique_ptr<fb::StepT>> &steps, size_t index, size_t times);

// Sound additions.
fb::DecisionT &decision(Draft &d);
fb::GoldenT &golden(Draft &d);

} // namespace longwave::test
