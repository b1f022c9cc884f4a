// A schedule declares the arguments that its contract lists, in their order (KernelBuilder::read).
#include "schedules/contract/kernels/audio.h"
#include "schedules/contract/kernels/recurrent.h"
#include "schedules/halide/builder.h"
#include <doctest/doctest.h>
#include <sstream>
#include <string>

namespace contract_test {

using namespace longwave::schedules;
using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::Var;
using Names = contract::Frame::Arguments<contract::Names>;

namespace {

// Finishes a schedule of `frame` with these params that declares what `declare` does. Empty: accepted.
std::string refusal(const char *params, const std::function<void(KernelBuilder &, const Names &)> &declare) {
    const nlohmann::json spec = {{"kernel", "frame"}, {"params", nlohmann::json::parse(params)}};
    try {
        KernelBuilder builder("frame", spec, *longwave::targets::find("x86-64-v2"));
        builder.read<contract::Frame>();
        declare(builder, contract::names_of<contract::Frame>());
        builder.finish();
    } catch (const SpecError &error) {
        return error.what();
    }
    return "";
}

constexpr const char *params = R"({"window":4,"hop":4,"chunk":4,"rows":1,"ring":8})";

void result(KernelBuilder &k, const std::string &name, const ImageParam &samples) {
    Func y(name);
    const Var i, r;
    y(i, r) = samples(i);
    k.outputs(y, {{name, dense({4, 1})}});
}

} // namespace

TEST_CASE("a schedule declares the arguments of its contract, in their order") {
    const auto all = [](KernelBuilder &k, const Names &a) {
        const ImageParam samples = k.input(a.samples, dense({8}));
        k.weight(a.window, dense({4}));
        k.scalar(a.position, 4);
        result(k, a.y.text, samples);
    };
    CHECK(refusal(params, all) == "");
    // An argument that some params leave out.
    CHECK(refusal(params, [](KernelBuilder &k, const Names &a) {
              result(k, a.y.text, k.input(a.samples, dense({8})));
          }) == "");
    const std::string other = refusal(params, [](KernelBuilder &k, const Names &a) {
        result(k, a.y.text, k.input({"waves"}, dense({8})));
    });
    CHECK(other.find("no argument 'waves'") != std::string::npos);
    const std::string twice = refusal(params, [&](KernelBuilder &k, const Names &a) {
        k.input(a.samples, dense({8}));
        all(k, a);
    });
    CHECK(twice.find("no argument 'samples'") != std::string::npos);
    const std::string kind = refusal(params, [](KernelBuilder &k, const Names &a) {
        result(k, a.window.text, k.input(a.samples, dense({8})));
    });
    CHECK(kind.find("no argument 'window'") != std::string::npos);
}

TEST_CASE("params outside of their contract are refused by name") {
    const auto nothing = [](KernelBuilder &, const Names &) {};
    const auto refuses = [&](const char *text, const char *name) {
        const std::string reason = refusal(text, nothing);
        INFO(reason);
        return reason.find(name) != std::string::npos;
    };
    CHECK(refuses(R"({"window":4,"hop":4,"chunk":4,"rows":1})", "'ring' is missing"));
    CHECK(refuses(R"({"window":0,"hop":4,"chunk":4,"rows":1,"ring":8})", "'window' is 0"));
    CHECK(refuses(R"({"window":4,"hop":"4","chunk":4,"rows":1,"ring":8})", "'hop' must be an integer"));
    CHECK(refuses(R"({"window":4,"hop":4,"chunk":4,"rows":1,"ring":8,"weighted":2})", "'weighted' is 2"));
    CHECK(refuses(R"({"window":4,"hop":4,"chunk":4,"rows":1,"ring":8,"streams":2})", "'streams'"));
}

TEST_CASE("what streams have of an argument lies as far apart as the specification says") {
    const auto stride = [](const char *apart, std::initializer_list<int> extents) {
        nlohmann::json spec = {{"kernel", "lstm"}, {"params", {{"units", 16u}, {"streams", 2u}}}};
        if (*apart) spec["apart"] = nlohmann::json::parse(apart);
        KernelBuilder builder("lstm", spec, *longwave::targets::find("x86-64-v2"));
        builder.read<contract::Lstm>();
        const ImageParam x = builder.input({"x"}, dense(extents));
        const Expr last = x.parameter().stride_constraint(x.dimensions() - 1);
        std::ostringstream text; // a constant
        text << last;
        return std::stoi(text.str());
    };
    CHECK(stride("", {64, 2}) == 64);
    CHECK(stride(R"({"arguments":[0,2],"elements":208})", {64, 2}) == 208);
    CHECK(stride(R"({"arguments":[0,2],"elements":208})", {64, 4}) == 64); // two rows of each stream
    CHECK(stride(R"({"arguments":[1],"elements":208})", {64, 2}) == 64);
    for (const char *bad : {"3", R"({"elements":208})", R"({"arguments":[0],"elements":2147483648})",
                            R"({"arguments":[-1],"elements":208})"})
        CHECK_THROWS_AS(stride(bad, {64, 2}), SpecError);
}

} // namespace contract_test
