// Expected<T>: a value or the Status that says why there is none.
#pragma once
#include "formats/base/status.h"
#include <cassert>
#include <optional>
#include <utility>

namespace longwave {

template <class T> class [[nodiscard]] Expected {
public:
    Expected(T value) : value_(std::move(value)) {}
    Expected(Status status) : status_(std::move(status)) {
        assert(!status_ && "an Expected without a value needs a failure");
    }

    explicit operator bool() const { return value_.has_value(); }
    const Status &status() const { return status_; }
    T &operator*() & { return *value_; }
    const T &operator*() const & { return *value_; }
    T &&operator*() && { return std::move(*value_); }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }

private:
    Status status_;
    std::optional<T> value_;
};

} // namespace longwave

// Returns the failure of a Status expression to the caller.
#define LW_TRY(expression)                                                                                   \
    do {                                                                                                     \
        if (auto lw_status_ = (expression); !lw_status_) return lw_status_;                                  \
    } while (0)

// LW_ASSIGN(auto value, expected_expression): unwraps, or returns the failure to the caller.
#define LW_ASSIGN(declaration, expression)                                                                   \
    LW_ASSIGN_(declaration, expression, LW_CONCAT(lw_expected_, __LINE__))
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration and a name cannot stand in parentheses
#define LW_ASSIGN_(declaration, expression, name)                                                            \
    auto name = (expression);                                                                                \
    if (!name) return name.status();                                                                         \
    declaration = *std::move(name)
// NOLINTEND(bugprone-macro-parentheses)
#define LW_CONCAT(a, b) LW_CONCAT_(a, b)
#define LW_CONCAT_(a, b) a##b
