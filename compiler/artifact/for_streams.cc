#include "compiler/artifact/for_streams.h"
#include "compiler/plan/entry_plan.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace longwave::compiler {

namespace {

bool equal(const schedules::Dim &a, const schedules::Dim &b) {
    return a.extent == b.extent && a.stride == b.stride;
}

// Elements from stream to stream: along a dimension of their own, or along the last one, which has
// so many times the extent.
std::optional<uint64_t> stride_of(const std::vector<schedules::Dim> &one,
                                  const std::vector<schedules::Dim> &many, uint32_t streams) {
    if (std::equal(one.begin(), one.end(), many.begin(), many.end(), equal)) return 0;
    if (many.size() == one.size() + 1 && many.back().extent == streams &&
        std::equal(one.begin(), one.end(), many.begin(), equal))
        return static_cast<uint64_t>(many.back().stride);
    if (one.empty() || many.size() != one.size() ||
        !std::equal(one.begin(), one.end() - 1, many.begin(), equal) ||
        many.back().extent != one.back().extent * streams)
        return std::nullopt;
    if (one.back().extent == 1) return static_cast<uint64_t>(many.back().stride);
    if (many.back().stride != one.back().stride) return std::nullopt;
    return uint64_t{one.back().extent} * static_cast<uint64_t>(one.back().stride);
}

} // namespace

std::vector<SpecForStreams> specs_for_streams(const std::string &spec, const std::vector<uint32_t> &streams,
                                              const InArenas &in_arenas) {
    std::vector<SpecForStreams> list;
    for (const uint32_t n : streams) {
        nlohmann::json many = nlohmann::json::parse(spec);
        many["params"][param_for_streams] = n;
        // Arguments of other elements than four bytes are then not so far apart, and are copied.
        if (!in_arenas.arguments.empty() && in_arenas.apart / sizeof(float) <= INT32_MAX)
            many["apart"] = {{"arguments", in_arenas.arguments},
                             {"elements", in_arenas.apart / sizeof(float)}};
        list.push_back({n, many.dump()});
    }
    return list;
}

Expected<std::vector<uint64_t>> strides_of_streams(const schedules::Signature &one,
                                                   const schedules::Signature &many, uint32_t streams,
                                                   const std::string &spec) {
    const auto fault = [&](size_t a) {
        return Status::internal(
            fmt::format("argument {} of a kernel for {} streams does not fit ({})", a, streams, spec));
    };
    if (one.args.size() != many.args.size()) return fault(many.args.size());
    std::vector<uint64_t> strides;
    for (size_t a = 0; a < one.args.size(); a++) {
        const schedules::KernelArg &x = one.args[a], &y = many.args[a];
        const bool scalar = x.kind == schedules::ArgKind::scalar;
        const std::vector<schedules::Dim> of_one = scalar ? std::vector<schedules::Dim>{{1, 1}} : x.dims;
        const std::optional<uint64_t> stride = stride_of(of_one, y.dims, streams);
        if (!stride || x.elem != y.elem || (scalar ? schedules::ArgKind::input : x.kind) != y.kind)
            return fault(a);
        strides.push_back(*stride * bytes_of(x.elem));
    }
    return strides;
}

} // namespace longwave::compiler
