// Files without code: the program contains the kernels of the compiler, and computes the same bits.
// A table of anything else is refused.
#include "formats/artifact/detach.h"
#include "tests/support/broken.h"
#include "tests/support/compiled_model.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tools/cli/files/kernel_source.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

namespace linked_kernels_test {

using namespace longwave;
using test::two_linear_layers;

namespace {

// The C source of the kernels, compiled by the C compiler as a program's own, and loaded.
class Linked {
public:
    explicit Linked(const artifact::DetachedCode &code) {
        char name[] = "/tmp/longwave-linked-XXXXXX";
        folder_ = mkdtemp(name);
        std::ofstream(folder_ + "/kernels.c") << cli::kernel_source("linked-kernels", code);
        const std::string cc = std::getenv("CC") ? std::getenv("CC") : "cc";
        const std::string command =
            cc +
            " -Wall -Wextra -Wpedantic -Wno-overlength-strings -Werror -O2 -fPIC -shared "
            "-I runtime/include " +
            folder_ + "/kernels.c -o " + folder_ + "/kernels.so";
        REQUIRE(std::system(command.c_str()) == 0);
        library_ = dlopen((folder_ + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        REQUIRE_MESSAGE(library_, dlerror());
        table = static_cast<const lw_model_kernels *>(dlsym(library_, "longwave_kernels_linked_kernels"));
        REQUIRE(table);
    }
    ~Linked() {
        dlclose(library_);
        std::filesystem::remove_all(folder_);
    }
    Linked(const Linked &) = delete;
    const lw_model_kernels *table = nullptr;

private:
    std::string folder_;
    void *library_ = nullptr;
};

lw_status open(const std::vector<uint8_t> &bytes, const lw_model_kernels *kernels, lw_model **out) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = kernels == nullptr;
    options.kernels = kernels;
    return lw_model_open_memory(bytes.data(), bytes.size(), &options, out);
}

lw_status opens(const std::vector<uint8_t> &bytes, const lw_model_kernels *kernels) {
    lw_model *model = nullptr;
    const lw_status status = open(bytes, kernels, &model);
    lw_model_close(model);
    return status;
}

// All rows of a stream over `rows` rows of input, and of an offline run over 32 of them.
std::vector<float> rows_of(const lw_model *model) {
    std::vector<float> x = test::noise(64 * 4), values;
    lw_stream *stream = nullptr;
    REQUIRE(lw_stream_create(model, &test::f32_stream, &stream) == LW_OK);
    size_t taken = 0;
    REQUIRE(lw_stream_push(stream, x.data(), 64, &taken) == LW_OK);
    REQUIRE(taken == 64);
    lw_stream_row out{};
    out.struct_size = sizeof out;
    while (lw_stream_pull(stream, &out) == LW_OK) values.insert(values.end(), out.data, out.data + out.width);
    lw_stream_destroy(stream);
    lw_runner *runner = nullptr;
    REQUIRE(lw_runner_create(model, &test::f32_runner, &runner) == LW_OK);
    std::vector<float> y(32 * 4);
    const lw_run_tensor in = {sizeof in, x.data(), 32, 0};
    lw_run_tensor result = {sizeof result, y.data(), 32, 0};
    REQUIRE(lw_run(runner, &in, 1, &result, 1) == LW_OK);
    lw_runner_destroy(runner);
    values.insert(values.end(), y.begin(), y.begin() + static_cast<long>(result.rows * 4));
    return values;
}

bool detail(const char *text) { return std::string(lw_last_error()).find(text) != std::string::npos; }

} // namespace

TEST_CASE(
    "linked kernels: a program that contains the kernels computes the bits of the file that contains them") {
    const std::vector<uint8_t> with_code = two_linear_layers("linked-kernels", "relu");
    const auto detached = artifact::detach_code(with_code);
    REQUIRE_MESSAGE(detached, detached.status().message());
    const std::vector<uint8_t> &bare = detached->artifact;
    REQUIRE(!detached->code.functions.empty());
    // None of the machine code is left.
    CHECK(std::search(bare.begin(), bare.end(), detached->code.image.begin(),
                      detached->code.image.begin() + 64) == bare.end());
    const Linked linked(detached->code);
    lw_model *a = nullptr, *b = nullptr;
    REQUIRE(open(with_code, nullptr, &a) == LW_OK);
    const lw_status status =
        open(bare, linked.table, &b); // without consent to code in the file: there is none
    REQUIRE_MESSAGE(status == LW_OK, lw_last_error());
    CHECK(lw_model_verify(b, nullptr) == LW_OK);
    const std::vector<float> rows = rows_of(a);
    CHECK(rows.size() > 64);
    CHECK(rows_of(b) == rows);
    lw_model_close(a);
    lw_model_close(b);
}

TEST_CASE("linked kernels: a file without code and without a table is one clear error") {
    const auto detached = artifact::detach_code(two_linear_layers("linked-kernels", "relu"));
    REQUIRE(detached);
    CHECK(opens(detached->artifact, nullptr) == LW_NO_CODE);
    CHECK(detail("linked-kernels contains no code: set lw_open_options.kernels"));
}

TEST_CASE(
    "linked kernels: a table of another model, or of arguments that the file does not have, is refused") {
    const auto detached = artifact::detach_code(two_linear_layers("linked-kernels", "relu")),
               other = artifact::detach_code(two_linear_layers("linked-kernels", "tanh"));
    REQUIRE((detached && other));
    const Linked linked(detached->code), of_other(other->code);
    const std::vector<uint8_t> &bare = detached->artifact;
    REQUIRE(opens(bare, linked.table) == LW_OK);
    CHECK(opens(bare, of_other.table) == LW_NO_CODE);
    CHECK(detail("is not of the file of linked-kernels"));

    std::vector<lw_model_kernel> list(linked.table->list, linked.table->list + linked.table->n);
    lw_model_kernels table = *linked.table;
    table.list = list.data();
    REQUIRE(opens(bare, &table) == LW_OK);
    const auto refused = [&](auto edit) {
        const std::vector<lw_model_kernel> good = list;
        edit();
        CHECK(opens(bare, &table) == LW_NO_CODE);
        list = good;
        table.n = list.size();
        REQUIRE(opens(bare, &table) == LW_OK);
    };
    refused([&] { list.back().hash[31] ^= 1; });
    refused([&] { list.back().scratch_bytes += uint64_t{1} << 40; });
    refused([&] { list.back().function = nullptr; });
    refused([&] { table.n -= 1; });
    if (list.size() > 1) refused([&] { std::swap(list[0], list[1]); });
    table.struct_size = 0;
    CHECK(opens(bare, &table) == LW_INVALID_ARGUMENT);

    // An attacker copies the hash of the code into a plan with other kernels, or gives a kernel
    // less scratch.
    const auto attacked = [&](const std::vector<uint8_t> &bytes, auto edit) {
        return opens(test::rewrite(bytes, edit), linked.table);
    };
    CHECK(attacked(other->artifact, [&](fb::PlanT &plan) {
              plan.variants[0]->image.assign(linked.table->code, linked.table->code + 32);
          }) == LW_NO_CODE);
    REQUIRE(attacked(bare, [](fb::PlanT &) {}) == LW_OK);
    // The same kernels from another compiler: other code than the one that was checked.
    CHECK(attacked(bare, [](fb::PlanT &plan) { plan.variants[0]->image[0] ^= 1; }) == LW_NO_CODE);
    list[0].scratch_bytes = 64;
    table.struct_size = sizeof table;
    CHECK(opens(test::rewrite(bare, [](fb::PlanT &plan) { plan.variants[0]->scratch[0] = 0; }), &table) ==
          LW_NO_CODE);
}

} // namespace linked_kernels_test
