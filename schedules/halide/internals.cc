#include "schedules/halide/internals.h"

namespace longwave::schedules {

using namespace Halide;

Expr constant(Type type, double value) { return Internal::make_const(type, value); }

Expr zero(Type type) { return Internal::make_zero(type); }

Expr always() { return Internal::const_true(); }

std::optional<int64_t> constant_value(const Expr &value) {
    const auto found = Internal::as_const_int(value);
    return found ? std::optional<int64_t>(*found) : std::nullopt;
}

Expr simplified(const Expr &value) { return Internal::simplify(value); }

std::string fresh_name(const std::string &role) { return Internal::unique_name(role); }

Expr load_for_extent(const ImageParam &buffer, int x, int y) {
    return Internal::Call::make(buffer.parameter(), {x, y});
}

Expr stride_of_caller(const ImageParam &buffer, int dimension) {
    const Expr argument =
        Internal::Variable::make(type_of<halide_buffer_t *>(), buffer.name() + ".buffer", buffer.parameter());
    return Internal::Call::make(Int(32), Internal::Call::buffer_get_stride, {argument, dimension},
                                Internal::Call::Extern);
}

Expr prefetched(const ImageParam &buffer, const Expr &bytes) {
    using Internal::Call;
    const Expr argument =
        Internal::Variable::make(type_of<halide_buffer_t *>(), buffer.name() + ".buffer", buffer.parameter());
    const Expr host = Call::make(Handle(), Call::buffer_get_host, {argument}, Call::Extern);
    const Expr at = reinterpret(Handle(), reinterpret<uint64_t>(host) + cast<uint64_t>(bytes));
    const Expr request = Call::make(Int(32), "llvm.prefetch.p0", {at, 0, 2, 1}, Call::Extern);
    return Call::make(Int(32), Call::return_second, {request, 0}, Call::Intrinsic);
}

} // namespace longwave::schedules
