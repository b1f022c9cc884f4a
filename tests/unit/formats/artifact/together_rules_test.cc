// V11, V12 and V13 for kernels that serve several streams at once.
#include "tests/unit/formats/artifact/corpus.h"
#include <doctest/doctest.h>

namespace longwave::test {
namespace {

enum : size_t { k_one, k_two, k_four };

fb::TogetherT &together(Draft &d, size_t index = 0) { return *d.plan.kernels[k_one]->together[index]; }
fb::KernelArgT &kernel_argument(Draft &d, size_t kernel, size_t index) {
    return *d.plan.kernels[kernel]->args[index];
}

// The kernel of one stream takes a scalar, and so that for two an int32 for each.
void with_scalar(Draft &d) {
    for (size_t k : {k_one, k_two, k_four}) {
        auto number = std::make_unique<fb::KernelArgT>();
        number->kind = k == k_one ? fb::ArgKind::scalar : fb::ArgKind::input;
        number->elem = fb::Elem::i32;
        if (k == k_two) number->dims = {fb::Dim(2, 1)};
        if (k == k_four) number->dims = {fb::Dim(4, 1)};
        auto &args = d.plan.kernels[k]->args;
        args.insert(args.begin() + 2, std::move(number));
    }
    for (auto &many : d.plan.kernels[k_one]->together) many->strides.insert(many->strides.begin() + 2, 4);
    auto &args = d.plan.entries[0]->steps[0]->args;
    args.insert(args.begin() + 2, constant(0));
}

const Case together_cases[] = {
    {"a kernel for several streams that is not there", 13, [](Draft &d) { together(d).kernel = 9; }},
    {"a kernel for several streams that is the kernel for one", 13,
     [](Draft &d) { together(d).kernel = k_one; }},
    {"a kernel for several streams that has another", 13,
     [](Draft &d) {
         d.plan.kernels[k_two]->together.push_back(std::make_unique<fb::TogetherT>(together(d, 1)));
     }},
    {"one stream", 13, [](Draft &d) { together(d).streams = 1; }},
    {"65 streams", 13, [](Draft &d) { together(d, 1).streams = 65; }},
    {"streams that do not ascend", 13, [](Draft &d) { together(d, 1).streams = 2; }},
    {"five kernels for several streams", 13,
     [](Draft &d) {
         for (uint16_t streams = 5; streams < 8; ++streams) {
             d.plan.kernels[k_one]->together.push_back(std::make_unique<fb::TogetherT>(together(d, 1)));
             d.plan.kernels[k_one]->together.back()->streams = streams;
         }
     }},
    {"a stride for each argument but one", 13, [](Draft &d) { together(d).strides.pop_back(); }},
    {"an argument less for several streams", 12, [](Draft &d) { d.plan.kernels[k_two]->args.pop_back(); }},
    {"another type for several streams", 12,
     [](Draft &d) { kernel_argument(d, k_two, 0).elem = fb::Elem::i32; }},
    {"another kind for several streams", 12,
     [](Draft &d) { kernel_argument(d, k_two, 2).kind = fb::ArgKind::inout; }},
    {"a shared output", 12,
     [](Draft &d) {
         together(d).strides[2] = 0, kernel_argument(d, k_two, 2).dims = kernel_argument(d, k_one, 2).dims;
     }},
    {"shared rows of the state", 12,
     [](Draft &d) {
         together(d).strides[0] = 0, kernel_argument(d, k_two, 0).dims = kernel_argument(d, k_one, 0).dims;
     }},
    {"a shared input of another shape", 12,
     [](Draft &d) { kernel_argument(d, k_two, 1).dims = {fb::Dim(2, 1)}; }},
    {"a stride below the argument", 12, [](Draft &d) { together(d).strides[0] = 8; }},
    {"a stride within an element", 12, [](Draft &d) { together(d).strides[0] = 42; }},
    {"a stride of 2^63", 12, [](Draft &d) { together(d).strides[0] = 1ull << 63; }},
    {"an input beyond the streams", 12,
     [](Draft &d) { kernel_argument(d, k_two, 0).dims = {fb::Dim(4, 1), fb::Dim(2, 10)}; }},
    {"an output beyond the streams", 12,
     [](Draft &d) { kernel_argument(d, k_two, 2).dims = {fb::Dim(3, 1), fb::Dim(3, 3)}; }},
    {"a scalar for several streams", 12,
     [](Draft &d) {
         with_scalar(d);
         kernel_argument(d, k_two, 2).kind = fb::ArgKind::scalar;
         kernel_argument(d, k_two, 2).dims.clear();
     }},
    {"more scalars than streams", 12,
     [](Draft &d) { with_scalar(d), kernel_argument(d, k_two, 2).dims = {fb::Dim(3, 1)}; }},
    {"scalars that are written", 12,
     [](Draft &d) { with_scalar(d), kernel_argument(d, k_two, 2).kind = fb::ArgKind::output; }},
    {"scalars eight bytes apart", 12, [](Draft &d) { with_scalar(d), together(d).strides[2] = 8; }},
};

} // namespace

void together_samples(Samples &samples) {
    add_cases(samples, "several streams", together_model, together_cases);
}

TEST_CASE("verify: V12 and V13, kernels for several streams") {
    check_sound(together_model());
    Draft scalar = together_model();
    with_scalar(scalar);
    check_sound(scalar, "a scalar that becomes an int32 for each stream");
    check_cases(together_model, together_cases);
}

} // namespace longwave::test
