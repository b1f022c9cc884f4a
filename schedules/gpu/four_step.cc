#include "schedules/gpu/four_step.h"
#include "schedules/gpu/register_points.h"
#include "schedules/gpu/stored_spectrum.h"

namespace longwave::gpu {

namespace {

using schedules::FourStepForm;

// The lanes of a workgroup of columns: channels, or copies of a single channel, of neighbouring
// columns.
class Columns {
public:
    // `copies`: 1 on the way forward, which they share.
    Columns(const char *name, const FourStepForm &form, const FourStepSizes &sizes, uint32_t copies)
        : form_(form), sizes_(sizes), copies_(copies), copies_are_lanes_(sizes.row == 1),
          channels_(form.column_channels(copies_are_lanes_ ? copies : sizes.row)),
          p(name, {form.columns.threads(), 1, 1},
            {(copies_are_lanes_ ? copies : sizes.row) / channels_, copies_are_lanes_ ? 1 : copies,
             form.rows.length * channels_ / form.columns.lanes}) {}

    void begin(const RegisterPoints &points) {
        channel_ = p.group(0) * channels_ + (points.lane() & (channels_ - 1));
        copy_ = copies_are_lanes_ ? p.u32(0) : p.group(1);
        column_ = p.group(2) * (form_.columns.lanes / channels_) + (points.lane() >> log2_of(channels_));
    }

    // The row of the sequence that a point of the column is, and where it lies.
    Uint row(const RegisterPoints::Place &at) const { return first_row(at) + at.offset * form_.rows.length; }
    Uint place(const RegisterPoints::Place &at) const {
        return first_row(at) * row_step() + (copy_ * sizes_.row + channel_) +
               at.offset * form_.rows.length * row_step();
    }
    uint32_t plane() const { return form_.length() * row_step(); }
    ResultPlace result(const Uint &row) const {
        return copies_are_lanes_ ? ResultPlace{copy_, channel_, row} : ResultPlace{channel_, copy_, row};
    }

    // Rows of a slot in pass 0, of all workers: all exist, none, or some.
    bool all(uint32_t slot) const {
        return least_row(slot) + form_.columns.workers() * form_.rows.length <= sizes_.rows;
    }
    bool none(uint32_t slot) const { return least_row(slot) >= sizes_.rows; }

private:
    uint32_t row_step() const { return sizes_.row * copies_; }
    uint32_t least_row(uint32_t slot) const { return form_.columns.position(0, 0, slot) * form_.rows.length; }
    Uint first_row(const RegisterPoints::Place &at) const {
        return at.variable * form_.rows.length + column_;
    }

    const FourStepForm &form_;
    const FourStepSizes &sizes_;
    const uint32_t copies_;
    const bool copies_are_lanes_;
    const uint32_t channels_;
    Uint channel_, copy_, column_;

public:
    Program p;
};

} // namespace

Program four_step_columns(const FourStepForm &form, const FourStepSizes &sizes) {
    Columns columns("four_step_columns", form, sizes, 1);
    Program &p = columns.p;
    const Memory u = p.buffer("u", 1, Access::read), roots = p.buffer("roots", 4, Access::read),
                 out = p.buffer("points", 1, Access::write);
    RegisterPoints points(p, form.columns, {roots, form.radices()}, p.u32(0));
    columns.begin(points);
    const size_t last = form.columns.last_pass();
    const Float zero = p.f32(0);
    points.x.assign(form.columns.points, {zero, zero});
    for (uint32_t slot = 0; slot < form.columns.points && !columns.none(slot); slot++) {
        const RegisterPoints::Place point = points.position(0, slot);
        const Uint at = columns.place(point);
        if (columns.all(slot)) {
            points.x[slot].re = p.load(u, at);
            continue;
        }
        const Bool exists = columns.row(point) < p.u32(sizes.rows);
        points.x[slot].re = select(exists, p.load(u, select(exists, at, p.u32(0))), zero);
    }
    points.forward();
    for (uint32_t slot = 0; slot < points.x.size(); slot++) {
        const Uint at = columns.place(points.position(last, slot)), of_im = at + columns.plane();
        const auto write = [&] {
            p.store(out, at, points.x[slot].re);
            p.store(out, of_im, points.x[slot].im);
        };
        points.when_worker_has(last, slot, write);
    }
    p.drop_unused();
    return std::move(p);
}

Program four_step_columns_back(const FourStepForm &form, const FourStepSizes &sizes,
                               const DeclareFinish &finish) {
    Columns columns("four_step_columns_back", form, sizes, sizes.copies);
    Program &p = columns.p;
    const Memory products = p.buffer("products", 1, Access::read), roots = p.buffer("roots", 4, Access::read);
    const Finish finished = finish ? finish(p) : Finish();
    const Memory y = p.buffer("y", 1, Access::write);
    RegisterPoints points(p, form.columns, {roots, form.radices()}, p.u32(0));
    columns.begin(points);
    const size_t last = form.columns.last_pass();
    for (uint32_t slot = 0; slot < form.columns.slots(last); slot++) {
        const Uint at = columns.place(points.position(last, slot));
        points.x.push_back({p.load(products, at), p.load(products, at + columns.plane())});
    }
    points.back();
    for (uint32_t slot = 0; slot < form.columns.points && !columns.none(slot); slot++) {
        const RegisterPoints::Place point = points.position(0, slot);
        const Uint row = columns.row(point), at = columns.place(point);
        const auto write = [&] {
            const Complex &x = points.x[slot];
            const Float sum = sizes.circular ? x.re + x.im : x.re;
            p.store(y, at, finished ? finished(sum, columns.result(row)) : sum);
        };
        if (columns.all(slot)) write();
        else p.when(row < p.u32(sizes.rows), write);
    }
    p.drop_unused();
    return std::move(p);
}

Program four_step_rows(const FourStepForm &form, const FourStepSizes &sizes) {
    const schedules::RegisterForm &of_row = form.rows;
    const bool copies_are_lanes = sizes.row == 1;
    const uint32_t lanes = copies_are_lanes ? sizes.copies : sizes.row,
                   copies = copies_are_lanes ? 1 : sizes.copies;
    Program p("four_step_rows", {of_row.threads(), 1, 1},
              {lanes / of_row.lanes, form.columns.length, copies});
    const Memory in = p.buffer("points", 1, Access::read),
                 made = sizes.scale_of_made != 0 ? p.buffer("made", 1, Access::read) : Memory{},
                 fixed = p.buffer("spectrum", 4, Access::read), roots = p.buffer("roots", 4, Access::read),
                 out = p.buffer("products", 1, Access::write);
    const Uint tile = p.group(0), block = p.group(1), copy = copies_are_lanes ? p.u32(0) : p.group(2);
    RegisterPoints points(p, of_row, {roots, form.radices(), form.columns.radices.size()}, block);
    const Uint lane = tile * of_row.lanes + points.lane();
    StoredSpectrum spectrum(p, of_row, fixed, (tile * copies + copy) * form.columns.length + block);
    // Numbers of `step` from one position of the whole to the next.
    const auto position = [&](uint32_t slot, uint32_t step) {
        const RegisterPoints::Place at = points.position(0, slot);
        return (block * of_row.length + at.variable) * step + at.offset * step;
    };
    const auto transform = [&](Memory from) {
        points.x.clear();
        for (uint32_t slot = 0; slot < of_row.points; slot++) {
            const Uint at = copies_are_lanes ? position(slot, 1) : position(slot, sizes.row) + lane;
            points.x.push_back({p.load(from, at), p.load(from, at + form.length() * sizes.row)});
        }
        points.forward();
    };
    if (sizes.scale_of_made != 0) {
        transform(made);
        spectrum.add(points.x, sizes.scale_of_made);
        p.barrier(); // the exchanges of the next transform begin where those of this one have ended
        points.hide_worker(0);
    }
    transform(in);
    spectrum.multiply(points.x);
    points.hide_worker(1);
    points.back();
    const uint32_t row = sizes.row * sizes.copies;
    for (uint32_t slot = 0; slot < of_row.points; slot++) {
        const Uint at = position(slot, row) + (copy * sizes.row + lane);
        p.store(out, at, points.x[slot].re);
        p.store(out, at + form.length() * row, points.x[slot].im);
    }
    p.drop_unused();
    return p;
}

} // namespace longwave::gpu
