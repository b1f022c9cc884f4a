// docs/model-format.md and layer_types.cc say the same: people read one, the reader obeys the
// other.
#include "formats/package/layer_types.h"
#include "tests/unit/formats/package/model_format.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>

namespace table_test {

using namespace longwave::package;

namespace {

// A file of the tree: tests run at its root.
std::string text_of(const std::string &path) {
    std::ifstream file(path);
    REQUIRE_MESSAGE(file.good(), path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

bool reads(const LayerType &type, const nlohmann::json &attributes, const std::string &parameter) {
    const auto names = read_parameters(type, attributes);
    return std::find(names.begin(), names.end(), parameter) != names.end();
}

} // namespace

TEST_CASE("the layer table: docs/model-format.md is what the table and its texts make") {
    const auto page = model_format(text_of("docs/model-format.in.md"));
    REQUIRE_MESSAGE(page, page.status().message());
    const bool same = *page == text_of("docs/model-format.md");
    CHECK_MESSAGE(same, "regenerate the page: build/tests/model_format docs/model-format.md");
}

TEST_CASE("the layer table: a text that is missing or names nothing is a problem") {
    std::string source = text_of("docs/model-format.in.md");
    const std::string line = "- `out_features`: width of the output\n";
    const size_t at = source.find(line, source.find("## linear\n"));
    REQUIRE(at != source.npos);
    source.replace(at, line.size(), "- `out_featrues`: width of the output\n");
    const auto page = model_format(source);
    REQUIRE_FALSE(page);
    CHECK(page.status().message() == "linear: the attribute out_features has no text\n"
                                     "linear: no attribute out_featrues\n");
}

TEST_CASE("the layer table: parameters are recognised, with and without an index") {
    const LayerType &sgconv = *find_layer_type("sgconv");
    nlohmann::json attributes = {{"linear", false}, {"layer_norm", false}, {"postact", nullptr}};
    CHECK(reads(sgconv, attributes, "D"));
    CHECK(reads(sgconv, attributes, "kernel_list.0"));
    CHECK(reads(sgconv, attributes, "kernel_list.12"));
    CHECK_FALSE(reads(sgconv, attributes, "kernel_list."));
    CHECK_FALSE(reads(sgconv, attributes, "kernel_list.x"));
    CHECK_FALSE(reads(sgconv, attributes, "kernel_list.-1"));
    CHECK_FALSE(reads(sgconv, attributes, "kernel_list.99999999999"));
    CHECK_FALSE(reads(sgconv, attributes, "kernel_list.64"));
    CHECK(reads(sgconv, attributes, "output_linear.weight"));
    CHECK_FALSE(reads(sgconv, attributes, "output_linear.0.weight"));
    CHECK_FALSE(reads(sgconv, attributes, "norm.norm.m"));
    attributes["postact"] = "glu";
    attributes["layer_norm"] = true;
    CHECK_FALSE(reads(sgconv, attributes, "output_linear.weight"));
    CHECK(reads(sgconv, attributes, "output_linear.0.weight"));
    CHECK(reads(sgconv, attributes, "norm.norm.m"));
    attributes["linear"] = true;
    CHECK_FALSE(reads(sgconv, attributes, "output_linear.0.weight"));
    CHECK(reads(*find_layer_type("branches"), {}, "3.conv.weight"));
    CHECK(find_layer_type("linera") == nullptr);
}

} // namespace table_test
