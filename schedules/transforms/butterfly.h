// Complex values as pairs of expressions, and the butterflies that transforms are made of. An
// undefined part means zero, so that transforms of real or zero-extended input simplify by
// themselves; a part nobody asks for costs nothing.
#pragma once
#include "schedules/contract/twiddles.h"
#include <Halide.h>
#include <functional>
#include <vector>

namespace longwave::schedules {

struct Complex {
    Halide::Expr re, im;
};

Complex operator+(const Complex &a, const Complex &b);
Complex operator-(const Complex &a, const Complex &b);
Complex operator*(const Complex &a, const Complex &b);
Complex times_conjugate(const Complex &a, const Complex &b); // a · conj(b)
Complex times_i(const Complex &a);

// Discrete Fourier transform of 2, 3, 4 or 5 values with exp(+2πi/R).
std::vector<Complex> dft(const std::vector<Complex> &x);

// The parts, with zeros of that type where they are undefined.
std::vector<Halide::Expr> real_parts(const std::vector<Complex> &x, Halide::Type type = Halide::Float(32));
std::vector<Halide::Expr> imaginary_parts(const std::vector<Complex> &x,
                                          Halide::Type type = Halide::Float(32));

// The levels of a right-angle transform (twiddles.h) on values held in expressions.
class RightAngle {
public:
    // `table` reads value i of the twiddle table; `type` is the type of the transform. `fused`:
    // butterflies of two and four complex points forward as multiply-adds, a quarter fewer
    // operations where the machine has them.
    RightAngle(int length, Halide::Type type, std::function<Halide::Expr(Halide::Expr)> table,
               bool fused = false);

    // The same butterflies with other twiddles, r^power, whatever level and block are asked for.
    RightAngle with_twiddles(std::function<Complex(int power)> twiddles) const {
        RightAngle other = *this;
        other.twiddles_ = std::move(twiddles);
        return other;
    }

    // The same of a table whose twiddles lie in this order.
    RightAngle with_order(TwiddleOrder order) const {
        RightAngle other = *this;
        other.order_ = order;
        return other;
    }

    const std::vector<int> &radices() const { return radices_; }
    int blocks(int level) const; // blocks before that level

    // The levels from `level` on that x.size() equally spaced points of block `block` take part in:
    // in place, block order out.
    void forward(std::vector<Complex> &x, int level, const Halide::Expr &block) const {
        forward_part(x, 0, x.size(), level, block);
    }
    // Undoes them (without the factor 1/points).
    void inverse(std::vector<Complex> &x, int level, const Halide::Expr &block) const {
        inverse_part(x, 0, x.size(), level, block);
    }

private:
    void forward_part(std::vector<Complex> &x, size_t offset, size_t size, int level,
                      const Halide::Expr &block) const;
    void inverse_part(std::vector<Complex> &x, size_t offset, size_t size, int level,
                      const Halide::Expr &block) const;
    bool fused_forward(std::vector<Complex> &point, int level, const Halide::Expr &block) const;
    Complex twiddle(int level, const Halide::Expr &block,
                    int power) const; // a constant of the code where the block is one

    std::vector<int> radices_;
    Halide::Type type_;
    std::function<Halide::Expr(Halide::Expr)> table_;
    TwiddleOrder order_ = TwiddleOrder::by_block;
    std::function<Complex(int power)> twiddles_; // instead of the table
    Halide::Expr two_;                           // of fused butterflies
};

} // namespace longwave::schedules
