#include "schedules/gpu/register_points.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>

namespace longwave::gpu {

using schedules::RegisterForm, schedules::RootKey;

RegisterPoints::RegisterPoints(Program &program, const RegisterForm &form, const RootTable &roots, Uint block)
    : p_(program), form_(form), roots_(roots), fold_(schedules::bank_fold(form)), block_(block),
      worker_(form.workers() == 1 ? program.u32(0) : program.thread() >> log2_of(form.lanes)),
      lane_(form.workers() == 1 ? program.thread() : program.thread() & (form.lanes - 1)),
      addresses_(form.radices.size()) {
    if (form.radices.size() > 1) program.shared(form.shared_floats());
}

void RegisterPoints::forward() {
    for (size_t pass = 0; pass < form_.radices.size(); pass++) {
        if (pass > 0) exchange(pass - 1, pass);
        const uint32_t radix = form_.radices[pass];
        for (uint32_t i = 0; i < form_.butterflies_of_worker(pass); i++)
            butterfly(std::span(x).subspan(i * radix, radix), roots_of(pass, i));
    }
}

void RegisterPoints::back() {
    back_ = true;
    for (size_t pass = form_.radices.size(); pass-- > 0;) {
        const uint32_t radix = form_.radices[pass];
        for (uint32_t i = 0; i < form_.butterflies_of_worker(pass); i++)
            butterfly_back(std::span(x).subspan(i * radix, radix), roots_of(pass, i),
                           roots_.first + pass == 0);
        if (pass > 0) exchange(pass, pass - 1);
    }
}

void RegisterPoints::hide_worker(size_t which) {
    const Vec4 zeros = p_.load_vec4(roots_.memory, p_.u32(schedules::zeros_of_roots(roots_.radices)));
    // A worker, whatever memory holds.
    const uint32_t workers = form_.workers();
    worker_ = worker_ ^ (bits_of(zeros[which]) & (std::bit_ceil(workers) - 1));
    if (!std::has_single_bit(workers))
        worker_ = select(worker_ < p_.u32(workers), worker_, p_.u32(workers - 1));
    addresses_.assign(form_.radices.size(), {});
}

// ---- positions ----

// A worker that does not have the butterfly has the roots of the last one, and stores nothing.
Uint RegisterPoints::number(size_t pass, uint32_t butterfly) const {
    const Uint number = worker_ + butterfly * form_.workers();
    if (form_.complete(pass, butterfly)) return number;
    const Uint last = p_.u32(form_.butterflies(pass) - 1);
    return select(number < last, number, last);
}

Uint RegisterPoints::first_position(size_t pass, uint32_t butterfly) const {
    const Uint n = number(pass, butterfly);
    if (pass == 0) return n;
    const uint32_t apart = form_.apart(pass);
    return ((n >> log2_of(apart)) << log2_of(form_.radices[pass] * apart)) | (n & (apart - 1));
}

RegisterPoints::Place RegisterPoints::position(size_t pass, uint32_t slot) const {
    const uint32_t radix = form_.radices[pass];
    return {first_position(pass, slot / radix), slot % radix * form_.apart(pass)};
}

void RegisterPoints::when_worker_has(size_t pass, uint32_t slot, const std::function<void()> &body) const {
    const uint32_t butterfly = slot / form_.radices[pass];
    if (form_.complete(pass, butterfly)) body();
    else p_.when(worker_ + butterfly * form_.workers() < p_.u32(form_.butterflies(pass)), body);
}

// ---- roots ----

Roots RegisterPoints::roots_of(size_t pass, uint32_t butterfly) {
    const size_t of_whole = roots_.first + pass;
    if (of_whole == 0) return [this](const RootKey &key) { return constant_root(key); };
    const Uint block = block_ * form_.blocks(pass) + (number(pass, butterfly) >> log2_of(form_.apart(pass)));
    const schedules::RootPlace place = schedules::root_place(roots_.radices, of_whole, back_);
    const Uint first = block * place.of_block + place.first;
    auto loaded = std::make_shared<std::map<uint32_t, Vec4>>();
    const auto keys = schedules::root_keys(form_.radices[pass], back_);
    return [this, first, loaded, keys](const RootKey &key) {
        // The root of an odd block is i times that of its neighbour.
        const bool odd = !key.product && key.block % 2;
        const RootKey stored{key.level, key.block - odd, key.product, key.power};
        const auto number = static_cast<uint32_t>(std::find(keys.begin(), keys.end(), stored) - keys.begin());
        if (!loaded->contains(number / 2))
            (*loaded)[number / 2] = p_.load_vec4(roots_.memory, first + number / 2);
        const Vec4 &four = loaded->at(number / 2);
        const Complex s = number % 2 ? Complex{four[2], four[3]} : Complex{four[0], four[1]};
        return odd ? Complex{-s.im, s.re} : s;
    };
}

Complex RegisterPoints::constant_root(const RootKey &key) {
    const std::vector<int> levels = schedules::levels_of(form_.radices[0]);
    const auto phase = [&](uint32_t level, uint32_t block) {
        return schedules::register_root_phase(levels, level, block);
    };
    const double turns = key.product ? phase(key.level - 1, key.block) + phase(key.level, 2 * key.block)
                                     : phase(key.level, key.block) * key.power;
    const double angle = 2 * std::numbers::pi * turns;
    const auto exact = [&](double value) { // 0 where that is what rounding left
        return p_.f32(std::fabs(value) < 1e-12 ? 0.0f : static_cast<float>(value));
    };
    return {exact(std::cos(angle)), exact(std::sin(angle))};
}

// ---- shared memory ----

// XOR is linear, so the address of a slot is that of the butterfly's first one, with few bits
// changed, and a constant.
const std::vector<RegisterPoints::Place> &RegisterPoints::addresses(size_t pass) {
    std::vector<Place> &list = addresses_[pass];
    if (!list.empty()) return list;
    const uint32_t radix = form_.radices[pass], lanes = form_.lanes;
    for (uint32_t butterfly = 0; butterfly < form_.butterflies_of_worker(pass); butterfly++) {
        const Uint position = first_position(pass, butterfly);
        Uint bits = p_.u32(0);
        for (const uint32_t shift : fold_.shifts) bits = bits ^ (position >> shift);
        const Uint base = (position ^ (bits & fold_.mask)) * lanes + lane_;
        std::map<uint32_t, Uint> changed{{0, base}};
        for (uint32_t i = 0; i < radix; i++) {
            const uint32_t folded = fold_(i * form_.apart(pass)), low = folded & fold_.mask;
            if (!changed.contains(low)) changed[low] = base ^ (low * lanes);
            list.push_back({changed[low], (folded - low) * lanes});
        }
    }
    return list;
}

namespace {

Float &part_of(Complex &point, int part) { return part ? point.im : point.re; }

} // namespace

void RegisterPoints::store(std::vector<Complex> &points, size_t pass, int part, uint32_t offset) {
    const std::vector<Place> &to = addresses(pass);
    const uint32_t radix = form_.radices[pass];
    for (uint32_t butterfly = 0; butterfly < form_.butterflies_of_worker(pass); butterfly++) {
        const uint32_t first = butterfly * radix;
        std::vector<Uint> at; // outside of the guard, to be known later on
        for (uint32_t i = first; i < first + radix; i++)
            at.push_back(to[i].variable + (to[i].offset + offset));
        when_worker_has(pass, first, [&] {
            for (uint32_t i = 0; i < radix; i++) p_.store_shared(at[i], part_of(points[first + i], part));
        });
    }
}

void RegisterPoints::load(std::vector<Complex> &points, size_t pass, int part, uint32_t offset) {
    const std::vector<Place> &from = addresses(pass);
    const uint32_t radix = form_.radices[pass];
    for (uint32_t first = 0; first < points.size(); first += radix) {
        const auto load_all = [&](const std::function<void(uint32_t slot, const Float &value)> &take) {
            for (uint32_t i = first; i < first + radix; i++)
                take(i, p_.load_shared(from[i].variable + (from[i].offset + offset)));
        };
        if (form_.complete(pass, first / radix)) {
            load_all([&](uint32_t slot, const Float &value) { part_of(points[slot], part) = value; });
            continue;
        }
        // What a worker has no butterfly for is another's, who may write there at the same time.
        std::vector<Register> kept;
        for (uint32_t i = 0; i < radix; i++) kept.push_back(p_.keep(p_.f32(0)));
        when_worker_has(pass, first, [&] {
            load_all([&](uint32_t slot, const Float &value) { p_.set(kept[slot - first], value); });
        });
        for (uint32_t i = 0; i < radix; i++) part_of(points[first + i], part) = p_.get(kept[i]);
    }
}

// A thread writes to where it has read before, so no barrier stands before the first store.
// With one plane the parts follow one another, each time the part first that was last before.
void RegisterPoints::exchange(size_t from, size_t to) {
    std::vector<Complex> loaded(form_.slots(to));
    if (form_.planes == 2) {
        const uint32_t plane = form_.length * form_.lanes;
        store(x, from, 0, 0), store(x, from, 1, plane);
        p_.barrier();
        load(loaded, to, 0, 0), load(loaded, to, 1, plane);
    } else {
        store(x, from, first_part_, 0);
        p_.barrier();
        load(loaded, to, first_part_, 0);
        p_.barrier();
        store(x, from, 1 - first_part_, 0);
        p_.barrier();
        load(loaded, to, 1 - first_part_, 0);
        first_part_ = 1 - first_part_;
    }
    x = std::move(loaded);
}

} // namespace longwave::gpu
