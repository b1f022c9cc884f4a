// Params and arguments of kernels, as types. Each kernel has one struct in schedules/contract/kernels/:
//
//     // What the kernel computes.
//     struct Shift {
//         static constexpr const char *name = "shift";
//         Required<1, 1 << 24> row, rows;
//         Default<0, 0, 1 << 20> by; // rows
//         LW_PARAMS(row, rows, by)
//
//         template <class Of> struct Arguments {
//             typename Of::Input x;     // [row, rows]
//             typename Of::Output y;    // [row, rows]
//             LW_ARGUMENTS(x, y)
//         };
//     };
//
// The op that calls the kernel fills both in, by name and in this order. The schedule that writes the
// kernel reads the same members. docs/kernels.md is made from these files (kernels.py), with the ranges of
// the types and the comments behind the members. A name that is misspelt, two arguments that are swapped,
// and a param without a range do not compile.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longwave::schedules::contract {

// ---- params ----

// An integer from Low to High that the caller must give.
template <int64_t Low, int64_t High> struct Required {
    static constexpr int64_t low = Low, high = High;
    int64_t value;
    constexpr Required(std::integral auto of) : value(static_cast<int64_t>(of)) {}
    constexpr operator int() const { return static_cast<int>(value); }
};

// One that has a value if the caller gives none. A specification leaves that value out, so that equal
// kernels have equal specifications.
template <int64_t Otherwise, int64_t Low, int64_t High> struct Default {
    static constexpr int64_t otherwise = Otherwise, low = Low, high = High;
    int64_t value = Otherwise;
    constexpr Default() = default;
    constexpr Default(std::integral auto of) : value(static_cast<int64_t>(of)) {}
    constexpr operator int() const { return static_cast<int>(value); }
};

// A default that depends on other params: or_else says it.
template <int64_t Low, int64_t High> struct Optional {
    static constexpr int64_t low = Low, high = High;
    int64_t value = Low - 1; // absent
    constexpr Optional() = default;
    constexpr Optional(std::integral auto of) : value(static_cast<int64_t>(of)) {}
    constexpr bool given() const { return value != Low - 1; }
    constexpr int or_else(int otherwise) const { return given() ? static_cast<int>(value) : otherwise; }
};

template <bool Otherwise> struct FlagOr {
    static constexpr bool otherwise = Otherwise;
    bool value = Otherwise;
    constexpr FlagOr() = default;
    constexpr FlagOr(bool of) : value(of) {}
    constexpr operator bool() const { return value; }
};
using Flag = FlagOr<false>;

// The kernel computes the same call for so many streams at once, with the same bits. Arguments that differ
// between streams have a further outermost dimension, or so many times the rows. A scalar becomes an input
// with an int32 for each stream.
using Streams = Default<1, 1, 64>;

// A number in a range, which the caller must give: eps of a norm, the scale of a spectrum.
enum class Range : uint8_t { not_negative, positive };
template <Range Of> struct Real {
    static constexpr double low = Of == Range::positive ? 1e-30 : 0, high = 1e30;
    double value;
    constexpr Real(std::floating_point auto of) : value(of) {}
    constexpr operator float() const { return static_cast<float>(value); }
};

// Up to Most integers: the sizes of parts.
template <size_t Most, int64_t Low, int64_t High> struct Several {
    static constexpr int64_t low = Low, high = High;
    static constexpr size_t most = Most;
    std::vector<int64_t> values;
    Several() = default;
    Several(std::vector<int64_t> of) : values(std::move(of)) {}
    size_t size() const { return values.size(); }
    int operator[](size_t i) const { return static_cast<int>(values[i]); }
};

// Text as a template argument.
template <size_t Size> struct Word {
    char text[Size];
    constexpr Word(const char (&of)[Size]) {
        for (size_t i = 0; i < Size; ++i) text[i] = of[i];
    }
    constexpr operator std::string_view() const { return {text, Size - 1}; }
};

// One of several words.
template <Word... Words> struct Choice {
    static constexpr std::array<std::string_view, sizeof...(Words)> words{std::string_view(Words)...};
    std::string value;
    Choice(std::string of) : value(std::move(of)) {}
    template <Word One> bool is() const {
        static_assert((... || (std::string_view(One) == std::string_view(Words))), "none of the words");
        return value == std::string_view(One);
    }
};

// The first word if the caller gives none.
template <Word First, Word... Others> struct ChoiceOr : Choice<First, Others...> {
    static constexpr std::string_view otherwise = First;
    ChoiceOr() : Choice<First, Others...>(std::string(std::string_view(First))) {}
    ChoiceOr(std::string of) : Choice<First, Others...>(std::move(of)) {}
};

// ---- arguments ----

// What a schedule knows of them: names, in call order. The kinds are types, so that a weight cannot stand
// for an input.
enum class Part : uint8_t { input, weight, scalar, output, state };
template <Part Of> struct Name {
    static constexpr Part part = Of;
    std::string text;
};
// As many as the params say.
template <Part Of> struct NumberedNames {
    static constexpr Part part = Of;
    std::string text;
    Name<Of> operator[](size_t number) const { return {text + "_" + std::to_string(number)}; }
};
struct Names {
    using Input = Name<Part::input>;
    using Inputs = NumberedNames<Part::input>;
    using Weight = Name<Part::weight>;
    using Scalar = Name<Part::scalar>; // an int32 that the kernel holds to its range
    using Output = Name<Part::output>;
    using Outputs = NumberedNames<Part::output>;
    using State = Name<Part::state>; // in-out: updated where it lies
};

// ---- names of members ----

// LW_PARAMS and LW_ARGUMENTS say the members once more, because C++20 cannot list them. A member that is
// missing there does not compile (complete()).
struct Anything {
    template <class T> operator T() const;
};
template <class T, size_t... Each> consteval bool takes(std::index_sequence<Each...>) {
    return requires { T{((void)Each, Anything{})...}; };
}
// Whether T has as many members as it lists: one more cannot be given.
template <class T> consteval bool complete() {
    return takes<T>(std::make_index_sequence<T::member_count>()) &&
           !takes<T>(std::make_index_sequence<T::member_count + 1>());
}

// The names of the arguments of kernel K.
template <class K> typename K::template Arguments<Names> names_of() {
    typename K::template Arguments<Names> names;
    names.each([](const char *name, auto &argument) { argument.text = name; });
    return names;
}

#define LW_EXPAND(...) LW_EXPAND3(LW_EXPAND3(LW_EXPAND3(__VA_ARGS__)))
#define LW_EXPAND3(...) LW_EXPAND2(LW_EXPAND2(LW_EXPAND2(__VA_ARGS__)))
#define LW_EXPAND2(...) LW_EXPAND1(LW_EXPAND1(LW_EXPAND1(__VA_ARGS__)))
#define LW_EXPAND1(...) __VA_ARGS__
#define LW_AGAIN() LW_EACH
#define LW_LATER()
#define LW_EACH(what, first, ...) what(first) __VA_OPT__(LW_AGAIN LW_LATER()()(what, __VA_ARGS__))
#define LW_VISIT(member) visit(#member, member);
#define LW_COUNT(member) +1
#define LW_NAME(member) #member,
#define LW_MEMBERS(...)                                                                                      \
    static constexpr size_t member_count = 0 LW_EXPAND(LW_EACH(LW_COUNT, __VA_ARGS__));                      \
    static constexpr const char *member_names[] = {LW_EXPAND(LW_EACH(LW_NAME, __VA_ARGS__))};                \
    constexpr void each(auto &&visit) { LW_EXPAND(LW_EACH(LW_VISIT, __VA_ARGS__)) }                          \
    constexpr void each(auto &&visit) const { LW_EXPAND(LW_EACH(LW_VISIT, __VA_ARGS__)) }
#define LW_PARAMS(...) LW_MEMBERS(__VA_ARGS__)
#define LW_ARGUMENTS(...) LW_MEMBERS(__VA_ARGS__)

} // namespace longwave::schedules::contract
