// The params of a kernel specification, each asked for once with its range; whatever was not asked
// for is an error.
#pragma once
#include "schedules/contract/param.h"
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace longwave::schedules {

// A specification no kernel can be made from; the message names the kernel and the param.
struct SpecError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Params {
public:
    Params(
        std::string owner,
        const nlohmann::json &object); // owner: "linear", "linear: epilogue log"; `object` must outlive this

    int integer(const std::string &name, int low, int high);
    int integer_or(const std::string &name, int otherwise, int low, int high);
    bool flag_or(const std::string &name, bool otherwise) { return integer_or(name, otherwise, 0, 1) != 0; }
    double real(const std::string &name, double low, double high);
    std::string choice(const std::string &name, const std::vector<std::string> &allowed);
    std::string choice_or(const std::string &name, const std::string &otherwise,
                          const std::vector<std::string> &allowed) {
        return find(name) ? choice(name, allowed) : otherwise;
    }

    // All params of kernel K (schedules/contract/kernels).
    template <class K> K read() { return read<K>(std::make_index_sequence<K::member_count>()); }

    void finish() const; // throws when a param was never asked for
    [[noreturn]] void fail(const std::string &what) const;
    void require(bool condition, const std::string &what) const {
        if (!condition) fail(what);
    }

private:
    // Becomes a param of any type.
    struct Reader {
        Params &params;
        const char *name;
        template <class T> operator T() const { return params.value<T>(name); }
    };
    template <class K, size_t... Each> K read(std::index_sequence<Each...>) {
        return K{Reader{*this, K::member_names[Each]}...};
    }
    template <class T> T value(const char *name) {
        if constexpr (requires { T::most; }) return integers(name, T::most, T::low, T::high);
        else if constexpr (requires { T::words; }) {
            const std::vector<std::string> words(T::words.begin(), T::words.end());
            if constexpr (requires { T::otherwise; })
                return choice_or(name, std::string(T::otherwise), words);
            else return choice(name, words);
        } else if constexpr (std::same_as<decltype(T::value), bool>) return flag_or(name, T::otherwise);
        else if constexpr (std::same_as<decltype(T::value), double>) return real(name, T::low, T::high);
        else if constexpr (requires { T::otherwise; }) return integer_or(name, T::otherwise, T::low, T::high);
        else if constexpr (requires(T t) { t.given(); })
            return find(name) ? T(integer(name, T::low, T::high)) : T();
        else return integer(name, T::low, T::high);
    }
    std::vector<int64_t> integers(const std::string &name, size_t most, int low, int high);
    const nlohmann::json *find(const std::string &name);
    const nlohmann::json &get(const std::string &name);
    int checked(const std::string &name, const nlohmann::json &value, int low, int high) const;

    std::string owner_;
    const nlohmann::json &object_;
    std::set<std::string> asked_;
};

} // namespace longwave::schedules
