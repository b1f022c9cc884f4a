#include "schedules/spirv/long_conv.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <optional>

namespace longwave::gpu {

namespace {

using schedules::RegisterForm, schedules::RootKey;

struct Complex {
    Float re, im;
};
Complex operator+(const Complex &a, const Complex &b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex &a, const Complex &b) { return {a.re - b.re, a.im - b.im}; }
// x times the conjugate of w.
Complex back_by(const Complex &x, const Complex &w) {
    return {fma(x.re, w.re, x.im * w.im), fma(x.im, w.re, -(x.re * w.im))};
}
Complex product(const Complex &a, const Complex &b) {
    return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
Complex times_minus_i(const Complex &x) { return {x.im, -x.re}; }

using Roots = std::function<Complex(const RootKey &)>;

// A pass forward: s of each block splits it into a + s b and a − s b, in six multiply-adds.
void forward(std::vector<Complex> &x, size_t first, uint32_t radix, const Roots &root) {
    const Float two = x[first].re.program->real(2);
    for (uint32_t level = 0; level < log2_of(radix); level++) {
        const uint32_t half = radix >> (level + 1);
        for (uint32_t block = 0; block < 1u << level; block++) {
            const Complex s = root({level, block});
            const Float minus_im = -s.im;
            for (uint32_t q = 0; q < half; q++) {
                Complex &upper = x[first + 2 * half * block + q], &lower = x[first + 2 * half * block + q + half];
                const Complex a = upper, b = lower;
                upper = {fma(minus_im, b.im, fma(s.re, b.re, a.re)), fma(s.im, b.re, fma(s.re, b.im, a.im))};
                lower = {fma(two, a.re, -upper.re), fma(two, a.im, -upper.im)};
            }
        }
    }
}

// One level back: x + y and (x − y) times the conjugate of s.
void back_one(std::vector<Complex> &x, size_t first, uint32_t radix, const Roots &root) {
    const Complex s = root({0, 0});
    for (uint32_t q = 0; q < radix / 2; q++) {
        const Complex a = x[first + q], b = x[first + q + radix / 2];
        x[first + q] = a + b;
        x[first + q + radix / 2] = back_by(a - b, s);
    }
}

// Two levels back: the second half of the inner level is i times the first, so its root needs no
// multiplication of its own.
void back_two(std::vector<Complex> &x, size_t first, uint32_t radix, uint32_t level, const Roots &root,
              bool product_known) {
    const uint32_t quarter = radix >> (level + 1);
    for (uint32_t block = 0; block < 1u << (level - 1); block++) {
        const Complex outer = root({level - 1, block}), inner = root({level, 2 * block});
        const Complex both = product_known ? root({level, block, true}) : product(outer, inner);
        for (uint32_t q = 0; q < quarter; q++) {
            std::array<size_t, 4> at;
            for (uint32_t i = 0; i < 4; i++) at[i] = first + (4 * block + i) * quarter + q;
            const Complex sum = x[at[0]] + x[at[1]], difference = x[at[0]] - x[at[1]];
            const Complex second_sum = x[at[2]] + x[at[3]], turned = times_minus_i(x[at[2]] - x[at[3]]);
            x[at[0]] = sum + second_sum;
            x[at[1]] = back_by(difference + turned, inner);
            x[at[2]] = back_by(sum - second_sum, outer);
            x[at[3]] = back_by(difference - turned, both);
        }
    }
}

void backward(std::vector<Complex> &x, size_t first, uint32_t radix, const Roots &root, bool constants) {
    for (uint32_t left = log2_of(radix); left > 0;) {
        const uint32_t level = left - 1;
        if (!schedules::paired(level)) return back_one(x, first, radix, root);
        back_two(x, first, radix, level, root, constants || schedules::product_in_table(radix, level));
        left -= 2;
    }
}

class LongConv {
public:
    LongConv(const RegisterForm &form, const LongConvSizes &sizes, const DeclareFinish &finish)
        : form_(form), sizes_(sizes), copies_are_lanes_(sizes.row == 1), fold_(schedules::bank_fold(form)),
          lanes_of_row_(copies_are_lanes_ ? sizes.copies : sizes.row),
          p_("long_conv_registers", {form.threads(), 1, 1},
             {lanes_of_row_ / form.lanes, copies_are_lanes_ ? 1 : sizes.copies, 1}) {
        u_ = p_.buffer("u", 1, Access::read);
        if (has_h()) h_ = p_.buffer("h", 1, Access::read);
        spectrum_ = p_.buffer("spectrum", 4, Access::read);
        roots_ = p_.buffer("roots", 4, Access::read);
        if (finish) finish_ = finish(p_);
        y_ = p_.buffer("y", 1, Access::write);
        p_.shared(form.shared_floats());
    }

    Program run() {
        thread_ = p_.thread();
        tile_ = p_.group(0);
        copy_ = copies_are_lanes_ ? p_.whole(0) : p_.group(1);
        lane_ = thread_ & (form_.lanes - 1);
        worker_ = thread_ >> log2_of(form_.lanes);
        lane_of_row_ = tile_ * form_.lanes + lane_;
        if (has_h()) {
            transform(h_);
            add_to_kernel();
            p_.barrier(); // the exchanges of u begin where those of h have ended
            hide_worker(0);
        }
        transform(u_);
        multiply();
        hide_worker(1);
        back_ = true;
        for (size_t pass = form_.radices.size(); pass-- > 0;) {
            for (uint32_t first = 0; first < form_.points; first += form_.radices[pass])
                backward(x_, first, form_.radices[pass], roots_of(pass, first), pass == 0);
            if (pass > 0) exchange(pass, pass - 1);
        }
        write_rows();
        p_.drop_unused();
        return std::move(p_);
    }

private:
    bool has_h() const { return sizes_.scale_of_h != 0; }

    void transform(Memory from) {
        read_rows(from);
        for (size_t pass = 0; pass < form_.radices.size(); pass++) {
            if (pass > 0) exchange(pass - 1, pass);
            for (uint32_t first = 0; first < form_.points; first += form_.radices[pass])
                forward(x_, first, form_.radices[pass], roots_of(pass, first));
        }
    }

    // ---- rows ----
    // Slot 0 has row `worker`, and each slot is so many rows further on.
    uint32_t row_of(uint32_t slot) const { return form_.position(0, 0, slot); }
    std::optional<Bool> guard(uint32_t slot) { // none: the row exists for every worker
        if (row_of(slot) + form_.workers() <= sizes_.rows) return std::nullopt;
        return worker_ + row_of(slot) < p_.whole(sizes_.rows);
    }

    // Numbers from one row to the next, and from a channel of u or y to the next.
    uint32_t row_step(uint32_t channels) const { return sizes_.channel_major ? 1 : channels; }
    uint32_t channel_step() const { return sizes_.channel_major ? sizes_.rows : 1; }

    void read_rows(Memory from) {
        x_.clear();
        const uint32_t step = row_step(sizes_.row);
        const Uint first = copies_are_lanes_ ? worker_ : worker_ * step + lane_of_row_ * channel_step();
        const Float zero = p_.real(0);
        for (uint32_t slot = 0; slot < form_.points; slot++) {
            if (row_of(slot) >= sizes_.rows) {
                x_.push_back({zero, zero});
                continue;
            }
            const Uint at = first + row_of(slot) * step;
            const std::optional<Bool> exists = guard(slot);
            Float value = p_.load(from, exists ? select(*exists, at, p_.whole(0)) : at);
            if (exists) value = select(*exists, value, zero);
            x_.push_back({value, zero});
        }
    }

    void write_rows() {
        const uint32_t step = row_step(sizes_.row * sizes_.copies);
        const Uint first = worker_ * step + (copy_ * sizes_.row + lane_of_row_) * channel_step();
        for (uint32_t slot = 0; slot < form_.points && row_of(slot) < sizes_.rows; slot++) {
            const auto write = [&] {
                const Uint row = worker_ + row_of(slot);
                const ResultPlace place = copies_are_lanes_ ? ResultPlace{p_.whole(0), lane_of_row_, row}
                                                            : ResultPlace{lane_of_row_, copy_, row};
                const Float sum = sizes_.circular ? x_[slot].re + x_[slot].im : x_[slot].re;
                p_.store(y_, first + row_of(slot) * step, finish_ ? finish_(sum, place) : sum);
            };
            if (const std::optional<Bool> exists = guard(slot)) p_.when(*exists, write);
            else write();
        }
    }

    // ---- the product with the spectrum ----
    // Slots 2 `pair` and 2 `pair` + 1.
    std::array<Complex, 2> spectrum_at(uint32_t pair) {
        const uint32_t fours = form_.points / 2;
        const Uint first = (tile_ * copies_of_tile() + copy_) * (fours * form_.threads()) + thread_;
        const std::array<Float, 4> k = p_.load_four(spectrum_, first + pair * form_.threads());
        return {{{k[0], k[1]}, {k[2], k[3]}}};
    }
    uint32_t copies_of_tile() const { return copies_are_lanes_ ? 1 : sizes_.copies; }

    // The kernel of which the points are a part.
    void add_to_kernel() {
        const Float scale = p_.real(sizes_.scale_of_h);
        for (uint32_t pair = 0; pair < form_.points / 2; pair++) {
            const std::array<Complex, 2> fixed = spectrum_at(pair);
            for (size_t i = 0; i < 2; i++) {
                const Complex made = x_[2 * pair + i];
                kernel_.push_back({fma(made.re, scale, fixed[i].re), fma(made.im, scale, fixed[i].im)});
            }
        }
    }

    void multiply() {
        for (uint32_t pair = 0; pair < form_.points / 2; pair++) {
            const auto of =
                has_h() ? std::array{kernel_[2 * pair], kernel_[2 * pair + 1]} : spectrum_at(pair);
            for (size_t i = 0; i < 2; i++) x_[2 * pair + i] = product(x_[2 * pair + i], of[i]);
        }
    }

    // Compilers keep addresses and roots of one transform in registers for the next, and then spill.
    // A zero that only memory knows hides that the worker is the same.
    void hide_worker(size_t which) {
        const std::array<Float, 4> zeros = p_.load_four(roots_, p_.whole(schedules::zeros_of_roots(form_)));
        // A worker, whatever memory holds.
        worker_ = worker_ ^ (bits_of(zeros[which]) & (form_.workers() - 1));
        addresses_.assign(form_.radices.size(), {});
    }

    // ---- roots ----
    Roots roots_of(size_t pass, uint32_t first_slot) {
        if (pass == 0) return [this](const RootKey &key) { return constant_root(key); };
        const uint32_t butterfly = first_slot / form_.radices[pass];
        const Uint block = (worker_ + butterfly * form_.workers()) >> log2_of(form_.apart(pass));
        const schedules::RootPlace place = schedules::root_place(form_, pass, back_);
        const Uint first = block * place.of_block + place.first;
        auto loaded = std::make_shared<std::map<uint32_t, std::array<Float, 4>>>();
        const auto keys = schedules::root_keys(form_.radices[pass], back_);
        return [this, first, loaded, keys](const RootKey &key) {
            // The root of an odd block is i times that of its neighbour.
            const bool odd = !key.product && key.block % 2;
            const RootKey stored{key.level, key.block - odd, key.product};
            const auto number = static_cast<uint32_t>(std::find(keys.begin(), keys.end(), stored) - keys.begin());
            if (!loaded->contains(number / 2)) (*loaded)[number / 2] = p_.load_four(roots_, first + number / 2);
            const std::array<Float, 4> &four = loaded->at(number / 2);
            const Complex s = number % 2 ? Complex{four[2], four[3]} : Complex{four[0], four[1]};
            return odd ? Complex{-s.im, s.re} : s;
        };
    }

    Complex constant_root(const RootKey &key) {
        const double turns =
            key.product
                ? schedules::register_root_phase(key.level - 1, key.block) +
                      schedules::register_root_phase(key.level, 2 * key.block)
                : schedules::register_root_phase(key.level, key.block);
        const double angle = 2 * std::numbers::pi * turns;
        return {p_.real(static_cast<float>(std::cos(angle))), p_.real(static_cast<float>(std::sin(angle)))};
    }

    // ---- shared memory ----
    // Of the slots of a pass: a variable part and a constant.
    struct Address {
        Uint variable;
        uint32_t offset = 0;
    };

    // XOR is linear, so the address of a slot is that of the butterfly's first one, with few bits
    // changed, and a constant.
    const std::vector<Address> &addresses(size_t pass) {
        if (addresses_.empty()) addresses_.resize(form_.radices.size());
        std::vector<Address> &list = addresses_[pass];
        if (!list.empty()) return list;
        const uint32_t radix = form_.radices[pass], apart = form_.apart(pass), lanes = form_.lanes;
        for (uint32_t first = 0; first < form_.points; first += radix) {
            const Uint butterfly = worker_ + first / radix * form_.workers();
            const Uint position = pass == 0 ? butterfly
                                            : ((butterfly >> log2_of(apart)) << log2_of(radix * apart)) |
                                                  (butterfly & (apart - 1));
            Uint bits = p_.whole(0);
            for (const uint32_t shift : fold_.shifts) bits = bits ^ (position >> shift);
            const Uint base = (position ^ (bits & fold_.mask)) * lanes + lane_;
            std::map<uint32_t, Uint> changed{{0, base}};
            for (uint32_t i = 0; i < radix; i++) {
                const uint32_t folded = fold_(i * apart), low = folded & fold_.mask;
                if (!changed.contains(low)) changed[low] = base ^ (low * lanes);
                list.push_back({changed[low], (folded - low) * lanes});
            }
        }
        return list;
    }

    // A thread writes to where it has read before, so no barrier stands before the first store.
    // With one plane the parts follow one another, each time the part first that was last before.
    void exchange(size_t from, size_t to) {
        const std::vector<Address> source = addresses(from), target = addresses(to);
        const uint32_t plane = form_.length * form_.lanes;
        const auto part = [](Complex &x, int which) -> Float & { return which ? x.im : x.re; };
        const auto store = [&](int which, uint32_t offset) {
            for (size_t i = 0; i < x_.size(); i++)
                p_.store_shared(source[i].variable + (source[i].offset + offset), part(x_[i], which));
        };
        const auto load = [&](int which, uint32_t offset) {
            for (size_t i = 0; i < x_.size(); i++)
                part(x_[i], which) = p_.load_shared(target[i].variable + (target[i].offset + offset));
        };
        if (form_.planes == 2) {
            store(0, 0), store(1, plane);
            p_.barrier();
            load(0, 0), load(1, plane);
            return;
        }
        store(first_part_, 0);
        p_.barrier();
        load(first_part_, 0);
        p_.barrier();
        store(1 - first_part_, 0);
        p_.barrier();
        load(1 - first_part_, 0);
        first_part_ = 1 - first_part_;
    }

    const RegisterForm &form_;
    const LongConvSizes sizes_;
    const bool copies_are_lanes_;
    const schedules::BankFold fold_;
    const uint32_t lanes_of_row_;
    Program p_;
    Memory u_, h_, spectrum_, roots_, y_;
    Finish finish_;
    Uint thread_, tile_, copy_, lane_, worker_, lane_of_row_;
    bool back_ = false;
    int first_part_ = 0;
    std::vector<Complex> x_, kernel_;
    std::vector<std::vector<Address>> addresses_; // by pass
};

} // namespace

Program long_conv(const RegisterForm &form, const LongConvSizes &sizes, const DeclareFinish &finish) {
    return LongConv(form, sizes, finish).run();
}

} // namespace longwave::gpu
