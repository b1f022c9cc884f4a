// README.md and layer_types.cc say the same: people read one, the reader obeys the other.
#include "formats/package/layer_types.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <set>

using namespace longwave::package;

namespace {

// The words between backticks.
std::vector<std::string> code_words(const std::string &text) {
    std::vector<std::string> words;
    for (size_t i = text.find('`'); i != text.npos;) {
        size_t end = text.find('`', i + 1);
        if (end == text.npos) break;
        words.push_back(text.substr(i + 1, end - i - 1));
        i = text.find('`', end + 1);
    }
    return words;
}

struct Row {
    std::string attributes, tensors;
};

// Rows of the layer table by layer type; a row may serve several types.
std::map<std::string, Row> readme_rows() {
    std::ifstream file("formats/package/README.md"); // tests run at the root of the tree
    REQUIRE(file.good());
    std::map<std::string, Row> rows;
    std::string line;
    bool in_table = false;
    while (std::getline(file, line)) {
        if (line.starts_with("| type |")) in_table = true;
        if (!in_table || line.empty() || line[0] != '|') {
            in_table = in_table && !line.empty() && line[0] == '|';
            continue;
        }
        size_t first = line.find('|', 1), second = line.find('|', first + 1);
        REQUIRE(second != line.npos);
        for (const auto &type : code_words(line.substr(0, first)))
            rows[type] = {line.substr(first + 1, second - first - 1), line.substr(second + 1)};
    }
    return rows;
}

bool reads(const LayerType &type, const nlohmann::json &attributes, const std::string &parameter) {
    const auto names = read_parameters(type, attributes);
    return std::find(names.begin(), names.end(), parameter) != names.end();
}

} // namespace

TEST_CASE("the layer table: README.md lists the same types") {
    const auto rows = readme_rows();
    std::set<std::string> in_code, in_readme;
    for (const auto &type : layer_types()) in_code.insert(type.name);
    for (const auto &[name, row] : rows) in_readme.insert(name);
    CHECK(in_code == in_readme);
}

TEST_CASE("the layer table: README.md lists the same attributes with the same defaults") {
    const auto rows = readme_rows();
    for (const auto &type : layer_types()) {
        if (!rows.count(type.name)) continue;
        const std::string &text = rows.at(type.name).attributes;
        CAPTURE(type.name);
        std::set<std::string> known;
        for (const auto &a : type.attributes) {
            CAPTURE(a.name);
            known.insert(a.name);
            const size_t at = text.find("`" + a.name + "`");
            REQUIRE(at != text.npos);
            if (a.fallback.empty()) continue;
            // The default stands in the next parentheses: "(1e-5)", "([1,1])", "(null or …",
            // "(\"cat_randn\")".
            const size_t open = text.find('(', at);
            REQUIRE(open != text.npos);
            std::string shown = text.substr(open + 1, a.fallback.size() + 8), expected = a.fallback;
            std::erase(shown, ' ');
            std::erase(expected, ' ');
            CHECK_MESSAGE(shown.starts_with(expected), shown);
        }
        if (type.name == "residual") known.insert({"norm", "layers"});
        if (type.two_inputs) known.insert("inputs");
        for (const auto &word : code_words(text)) {
            bool identifier = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == word.npos;
            if (identifier) CHECK_MESSAGE(known.count(word), word);
        }
    }
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
