// What an op gives for the arguments of a kernel (schedules/contract/param.h): where each lies.
#pragma once
#include "compiler/ir/step.h"
#include "schedules/contract/param.h"
#include <optional>

namespace longwave::ir {

namespace contract = schedules::contract;

using compiler::Packed;
using compiler::Place;

// Absent: with its params the kernel has no such argument.
template <contract::Part Of> struct GivenPlace {
    static constexpr auto part = Of;
    std::optional<Place> place;
    GivenPlace() = default;
    GivenPlace(Place at) : place(at) {}
    GivenPlace(std::optional<Place> at) : place(at) {}
};

struct GivenScalar {
    static constexpr auto part = contract::Part::scalar;
    std::optional<compiler::Scalar> scalar;
    GivenScalar() = default;
    GivenScalar(std::optional<compiler::Scalar> of) : scalar(of) {}
    GivenScalar(compiler::Scalar of) : scalar(of) {}
};

// The rows of the op's result: where the planner may write something else.
struct ResultRows {
    Place place;
};
struct GivenOutput {
    static constexpr auto part = contract::Part::output;
    std::optional<Place> place;
    bool result = false;
    GivenOutput() = default;
    GivenOutput(Place at) : place(at) {}
    GivenOutput(ResultRows rows) : place(rows.place), result(true) {}
};

struct Given {
    using Part = contract::Part;
    using Input = GivenPlace<Part::input>;
    using Inputs = std::vector<Input>;
    using Weight = GivenPlace<Part::weight>;
    using Scalar = GivenScalar;
    using Output = GivenOutput;
    using Outputs = std::vector<Output>;
    using State = GivenPlace<Part::state>;
};

} // namespace longwave::ir
