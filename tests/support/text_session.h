// A generator on a stream of its own, in one line.
#pragma once
#include "longwave/generator.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>
#include <string>

namespace longwave::test {

struct Generator {
    explicit Generator(const lw_model *model, lw_generator_options options = {}) : stream(model, LW_I32) {
        options.struct_size = sizeof options;
        const lw_status status = lw_generator_create(stream, &options, &generator);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    ~Generator() { lw_generator_destroy(generator); }
    Generator(const Generator &) = delete;
    operator lw_generator *() const { return generator; }

    void prompt(const std::string &text) {
        const std::vector<int32_t> ids(text.begin(), text.end());
        const lw_status status = lw_generator_prompt(generator, ids.data(), ids.size());
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
    }
    lw_generator_token next() {
        lw_generator_token token{};
        token.struct_size = sizeof token;
        const lw_status status = lw_generator_next(generator, &token);
        INFO(lw_last_error());
        REQUIRE(status == LW_OK);
        return token;
    }
    std::string text(size_t n) {
        std::string result;
        for (size_t i = 0; i < n; ++i) result += static_cast<char>(next().id);
        return result;
    }
    std::vector<uint8_t> save() const {
        size_t n = 0;
        REQUIRE(lw_generator_save(generator, nullptr, 0, &n) == LW_OK);
        std::vector<uint8_t> bytes(n);
        REQUIRE(lw_generator_save(generator, bytes.data(), n, &n) == LW_OK);
        return bytes;
    }
    lw_status end() { // of next, whatever it is
        lw_generator_token token{};
        token.struct_size = sizeof token;
        return lw_generator_next(generator, &token);
    }

    Stream stream;
    lw_generator *generator = nullptr;
};

} // namespace longwave::test
