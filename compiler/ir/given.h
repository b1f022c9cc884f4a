// What an op gives for the arguments of a kernel (schedules/contract/param.h): where each lies.
#pragma once
#include "compiler/ir/step.h"
#include "schedules/contract/param.h"
#include <optional>

namespace longwave::ir {

namespace contract = schedules::contract;

using compiler::Packed;
using compiler::Place;

// Absent: with its params the kernel has no such argument. A type for each kind, so that a weight cannot
// stand for an input.
template <contract::Part Of> struct GivenPlace {
    std::optional<Place> place;
    GivenPlace() = default;
    GivenPlace(Place at) : place(at) {}
    GivenPlace(std::optional<Place> at) : place(at) {}
};

struct GivenScalar {
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
    std::optional<Place> place;
    bool result = false;
    GivenOutput() = default;
    GivenOutput(Place at) : place(at) {}
    GivenOutput(ResultRows rows) : place(rows.place), result(true) {}
};

struct Given {
    using Input = GivenPlace<contract::Part::input>;
    using Inputs = std::vector<Input>;
    using Weight = GivenPlace<contract::Part::weight>;
    using Scalar = GivenScalar;
    using Output = GivenOutput;
    using Outputs = std::vector<Output>;
    using State = GivenPlace<contract::Part::state>;
};

} // namespace longwave::ir
