#include "schedules/gpu/long_conv.h"
#include "schedules/gpu/register_points.h"
#include "schedules/gpu/stored_spectrum.h"
#include <algorithm>
#include <optional>

namespace longwave::gpu {

namespace {

using schedules::RegisterForm;

class LongConv {
public:
    LongConv(const RegisterForm &form, const LongConvSizes &sizes, const DeclareFinish &finish)
        : form_(form), sizes_(sizes), copies_are_lanes_(sizes.row == 1),
          lanes_of_row_(copies_are_lanes_ ? sizes.copies : sizes.row),
          p_("long_conv_registers", {form.threads(), 1, 1},
             {lanes_of_row_ / form.lanes, copies_are_lanes_ ? 1 : sizes.copies, 1}) {
        u_ = p_.buffer("u", 1, Access::read);
        if (has_h()) h_ = p_.buffer("h", 1, Access::read);
        spectrum_ = p_.buffer("spectrum", 4, Access::read);
        roots_ = p_.buffer("roots", 4, Access::read);
        if (finish) finish_ = finish(p_);
        y_ = p_.buffer("y", 1, Access::write);
    }

    Program run() {
        RegisterPoints points(p_, form_, {roots_, form_.radices}, p_.u32(0));
        const Uint tile = p_.group(0);
        copy_ = copies_are_lanes_ ? p_.u32(0) : p_.group(1);
        lane_of_row_ = tile * form_.lanes + points.lane();
        StoredSpectrum spectrum(p_, form_, spectrum_,
                                copies_are_lanes_ ? tile : tile * sizes_.copies + copy_);
        if (has_h()) {
            read_rows(points, h_);
            points.forward();
            spectrum.add(points.x, sizes_.scale_of_h);
            p_.barrier(); // the exchanges of u begin where those of h have ended
            points.hide_worker(0);
        }
        read_rows(points, u_);
        points.forward();
        spectrum.multiply(points.x);
        points.hide_worker(1);
        points.back();
        write_rows(points);
        p_.drop_unused();
        return std::move(p_);
    }

private:
    bool has_h() const { return sizes_.scale_of_h != 0; }

    // ---- rows ----
    // Slot 0 has row `worker`, and each slot is so many rows further on.
    uint32_t row_of(uint32_t slot) const { return form_.position(0, 0, slot); }
    uint32_t slots() const { return form_.slots(0); }
    // None: the worker has the slot, and its row exists, for every worker.
    std::optional<Bool> guard(const Uint &worker, uint32_t slot) {
        const uint32_t first = slot / form_.radices[0] * form_.workers(), // of the butterflies
            with_slot = std::min(form_.workers(), form_.butterflies(0) - first);
        std::optional<Bool> exists;
        if (with_slot < form_.workers()) exists = worker < p_.u32(with_slot);
        if (row_of(slot) + with_slot <= sizes_.rows) return exists;
        const Bool has_row = worker + row_of(slot) < p_.u32(sizes_.rows);
        return exists ? *exists & has_row : has_row;
    }

    // Numbers from one row to the next, and from a channel of u or y to the next.
    uint32_t row_step(uint32_t channels) const { return sizes_.channel_major ? 1 : channels; }
    uint32_t channel_step() const { return sizes_.channel_major ? sizes_.rows : 1; }

    void read_rows(RegisterPoints &points, Memory from) {
        const Uint worker = points.worker();
        const uint32_t step = row_step(sizes_.row);
        const Uint first = copies_are_lanes_ ? worker : worker * step + lane_of_row_ * channel_step();
        const Float zero = p_.f32(0);
        points.x.assign(slots(), {zero, zero});
        for (uint32_t slot = 0; slot < slots(); slot++) {
            if (row_of(slot) >= sizes_.rows) continue;
            const Uint at = first + row_of(slot) * step;
            const std::optional<Bool> exists = guard(worker, slot);
            const Float value = p_.load(from, exists ? select(*exists, at, p_.u32(0)) : at);
            points.x[slot].re = exists ? select(*exists, value, zero) : value;
        }
    }

    void write_rows(const RegisterPoints &points) {
        const Uint worker = points.worker();
        const uint32_t step = row_step(sizes_.row * sizes_.copies);
        const Uint first = worker * step + (copy_ * sizes_.row + lane_of_row_) * channel_step();
        for (uint32_t slot = 0; slot < slots(); slot++) {
            if (row_of(slot) >= sizes_.rows) continue;
            const auto write = [&] {
                const Uint row = worker + row_of(slot);
                const ResultPlace place = copies_are_lanes_ ? ResultPlace{p_.u32(0), lane_of_row_, row}
                                                            : ResultPlace{lane_of_row_, copy_, row};
                const Complex &x = points.x[slot];
                const Float sum = sizes_.circular ? x.re + x.im : x.re;
                p_.store(y_, first + row_of(slot) * step, finish_ ? finish_(sum, place) : sum);
            };
            if (const std::optional<Bool> exists = guard(worker, slot)) p_.when(*exists, write);
            else write();
        }
    }

    const RegisterForm &form_;
    const LongConvSizes sizes_;
    const bool copies_are_lanes_;
    const uint32_t lanes_of_row_;
    Program p_;
    Memory u_, h_, spectrum_, roots_, y_;
    Finish finish_;
    Uint copy_, lane_of_row_;
};

} // namespace

Program long_conv(const RegisterForm &form, const LongConvSizes &sizes, const DeclareFinish &finish) {
    return LongConv(form, sizes, finish).run();
}

} // namespace longwave::gpu
