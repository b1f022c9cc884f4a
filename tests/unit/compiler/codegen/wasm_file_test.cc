#include "compiler/codegen/wasm_file.h"
#include <doctest/doctest.h>

namespace wasm_file_test {

using namespace longwave;
using namespace longwave::compiler;

namespace {

std::vector<uint8_t> object(std::vector<std::pair<uint32_t, std::string>> addresses = {}) {
    const std::vector<uint8_t> data(16, 7);
    WasmConstant constant{"longwave_m", data};
    constant.addresses = std::move(addresses);
    return wasm_constant(constant);
}

std::string failure(std::vector<uint8_t> bytes, const std::string &symbol = "longwave_m") {
    return keep_only(bytes, symbol).message();
}

} // namespace

TEST_CASE("wasm file: a constant is an object with its bytes and one symbol") {
    std::vector<uint8_t> made = object();
    CHECK(wasm_code_bytes(made) >= 16);
    CHECK(wasm_code_bytes(made) < 32);
    CHECK(keep_only(made, "longwave_m"));
    CHECK(made == object()); // nothing to hide
}

TEST_CASE("wasm file: what is missing is named") {
    CHECK(failure(object(), "longwave_other") == "the linked object lacks longwave_other");
    CHECK(failure(object({{0, "a"}, {4, "b"}})) == "the linked object leaves undefined: a, b");
}

TEST_CASE("wasm file: other bytes and files that are cut short are refused") {
    const std::string unreadable = "the linker's output is not a relocatable WebAssembly object";
    CHECK(wasm_code_bytes({1, 2, 3}) == 0);
    CHECK(failure({}) == unreadable);
    CHECK(failure({0x7f, 'E', 'L', 'F', 0, 0, 0, 0, 0}) == unreadable);
    const std::vector<uint8_t> whole = object();
    for (size_t n = 0; n < whole.size(); n++) {
        std::vector<uint8_t> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n));
        wasm_code_bytes(part);
        (void)keep_only(part, "longwave_m"); // ends, and reads nothing behind the end
    }
}

} // namespace wasm_file_test
