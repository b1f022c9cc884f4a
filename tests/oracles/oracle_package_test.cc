// Fixtures as packages: what a fixture may lack.
#include "tests/oracles/oracle_package.h"
#include <doctest/doctest.h>

namespace oracle_package_test {

using namespace longwave;
using oracles::make_case;
using package::Tensor;

namespace {

const char *model = R"({"case":"small","operator":"sgconv.model",
    "config":{"n_layers":1,"prenorm":true,"layer":{"kernel_dim":2,"l_max":4},
              "classes":2,"decoder":{"mode":"pool"}}})";
const char *layer =
    R"({"case":"layer","operator":"sgconv.gconv","config":{"kernel_dim":2,"l_max":4,"transposed":false}})";

Tensor tensor(std::vector<uint64_t> shape) {
    size_t size = 1;
    for (const uint64_t extent : shape) size *= extent;
    Tensor made;
    made.shape.assign(shape.begin(), shape.end());
    made.data = std::vector<float>(size, 0.5f);
    return made;
}

std::map<std::string, Tensor> tensors(const std::vector<std::string> &references) {
    std::map<std::string, Tensor> all = {{"w.encoder.0.weight", tensor({3, 3})}, {"in.x", tensor({1, 4, 3})}};
    for (const std::string &key : references)
        all["ref." + key] = key == "h" ? tensor({1, 4, 3}) : tensor({1, 2});
    return all;
}

std::vector<std::string> compared(const oracles::Case &fixture) {
    std::vector<std::string> names;
    for (const auto &expected : fixture.runs.at(0).outputs) names.push_back(expected.output.name);
    return names;
}

} // namespace

TEST_CASE("oracles: a fixture without ref.h is compared by what it has") {
    for (const std::vector<std::string> &references :
         std::vector<std::vector<std::string>>{{"h", "y"}, {"y"}, {"h"}}) {
        const auto fixture = make_case(model, tensors(references));
        REQUIRE_MESSAGE(fixture, fixture.status().message());
        CHECK(compared(*fixture) == references);
    }
}

TEST_CASE("oracles: a single layer may come with its kernel alone") {
    std::map<std::string, Tensor> all = {{"in.x", tensor({1, 4, 3})}, {"ref.k", tensor({1, 3, 4})}};
    const auto fixture = make_case(layer, all);
    REQUIRE_MESSAGE(fixture, fixture.status().message());
    CHECK(compared(*fixture).empty());
    CHECK(fixture->references.count("k") == 1);
}

TEST_CASE("oracles: a fixture without any reference is refused, and so is a reference that does not fit") {
    const auto none = make_case(model, tensors({}));
    REQUIRE(!none);
    CHECK(none.status().message().find("ref.*") != std::string::npos);
    auto all = tensors({"y"});
    all["ref.h"] = tensor({1, 5, 3});
    CHECK(!make_case(model, all));
}

} // namespace oracle_package_test
