#include "compiler/ops/costs.h"
#include "compiler/plan/tuning.h"
#include "tools/kernels/kernel_call.h"
#include "tools/kernels/structures.h"
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>

namespace tuning_test {

using namespace longwave;
using nlohmann::json;

namespace {

std::string shipped(const std::string &name) {
    std::ifstream file("schedules/long_conv/tables/" + name);
    std::stringstream text;
    text << file.rdbuf();
    REQUIRE(!text.str().empty());
    return text.str();
}

json tuning_of_shipped() {
    return {{"tuning", 1},
            {"made", {{"processor", "P"}, {"target", "x86-64-v4"}, {"date", "2026-11-22"}}},
            {"costs", json::parse(shipped("costs.json"))},
            {"structures", {{"x86-64-v4", json::parse(shipped("x86-64-v4.json"))}}}};
}

Expected<compiler::Tuning> parsed(const json &tuning) {
    return compiler::parse_tuning(tuning.dump(), "t.json", {targets::x86_64_v4()});
}

const compiler::costs::CostTable &table_of(const std::string &key) {
    for (const compiler::costs::CostTable *table : compiler::costs::all_tables())
        if (table->key == key) return *table;
    FAIL("no cost table " << key);
    std::abort();
}

// What a machine would say on which the k-th candidate of a length takes 1 − k/100 of the generic
// time.
kernels::Measured all_measured(const targets::Target &target) {
    kernels::Measured measured;
    for (bool more = true; more;) {
        more = false;
        for (const std::string &name : kernels::structure_names(target, measured)) {
            if (measured.count(name)) continue;
            more = true;
            json results = json::array();
            const auto contestants = std::count(name.begin(), name.end(), ';') + 1;
            for (long i = 0; i < contestants; i++) {
                const double ratio = 1 - 0.001 * static_cast<double>(measured.size()) - 0.01 * double(i);
                results.push_back({{"ns", ratio}, {"ratio", ratio}});
            }
            measured[name] = results;
            break; // as the verb does: one after the other
        }
    }
    return measured;
}

} // namespace

TEST_CASE("tuning: the shipped tables are of the format of a tuning file") {
    const auto tuning = parsed(tuning_of_shipped());
    REQUIRE_MESSAGE(tuning, tuning.status().message());
    CHECK(tuning->made == "P, x86-64-v4, 2026-11-22");
    REQUIRE(tuning->measured_costs);
    const auto &a = tuning->costs(), &b = compiler::costs::shipped();
    for (const compiler::costs::CostTable *table : compiler::costs::all_tables()) {
        INFO(table->key);
        if (table->columns == 1) CHECK(a.number(*table) == b.number(*table));
        for (size_t column = 1; column < table->columns; column++)
            for (const double x : {1.0, 3.0, 100.0, 5000.0, 1e6, 1e9})
                CHECK(a.at(*table, x, column) == b.at(*table, x, column));
    }
    CHECK(json::parse(tuning->structures) == tuning_of_shipped()["structures"]);
}

TEST_CASE("tuning: a part that is missing leaves the shipped one") {
    json tuning = tuning_of_shipped();
    tuning.erase("costs");
    auto structures = parsed(tuning);
    REQUIRE(structures);
    CHECK(!structures->measured_costs);
    CHECK(&structures->costs() == &compiler::costs::shipped());
    tuning = tuning_of_shipped();
    tuning.erase("structures");
    auto costs = compiler::parse_tuning(tuning.dump(), "t.json", targets::all()); // costs are for all levels
    REQUIRE(costs);
    CHECK(costs->structures.empty());
    const auto none = compiler::parse_tuning("", "", targets::all());
    REQUIRE(none);
    CHECK(!none->measured_costs);
}

TEST_CASE("tuning: what is malformed is refused in one line that begins with the file's name") {
    const auto refused = [](const json &tuning, const char *words, Fault fault = Fault::input) {
        const auto result = parsed(tuning);
        REQUIRE_MESSAGE(!result, words);
        CHECK(result.status().fault() == fault);
        CHECK(result.status().message().rfind("t.json: ", 0) == 0);
        CHECK(result.status().message().find('\n') == std::string::npos);
        CHECK_MESSAGE(result.status().message().find(words) != std::string::npos, result.status().message());
    };
    const auto changed = [](const std::vector<std::pair<const char *, json>> &changes) {
        json tuning = tuning_of_shipped();
        for (const auto &[path, value] : changes) tuning[json::json_pointer(path)] = value;
        return tuning;
    };
    refused(json::array(), "no tuning file");
    refused(json{{"costs", 1}}, "no tuning file");
    refused(changed({{"/tuning", 2}}), "version 2");
    refused(changed({{"/tuning", "1"}}), "expected 1");
    refused(json{{"tuning", 1}}, "no tables yet");
    refused(changed({{"/costs", json::array()}}), "costs");
    refused(changed({{"/costs/direct", json::array()}}), "\"direct\"");
    refused(changed({{"/costs/transform/1/1", -1}}), "\"transform\"");
    refused(changed({{"/costs/transform/1/1", "fast"}}), "\"transform\"");
    refused(changed({{"/costs/partition/1/0", 1}}), "\"partition\""); // not ascending
    refused(changed({{"/costs/one_channel", 0}}), "one_channel");
    refused(changed({{"/structures", 3}}), "structures");
    refused(changed({{"/structures/x86-64-v9", json::object()}}), "x86-64-v9");
    refused(changed({{"/structures/x86-64-v4/structures", json::array()}}), "x86-64-v4");
    refused(changed({{"/structures/x86-64-v4/structures/0/vec", 1e9}}), "x86-64-v4");
    refused(changed({{"/structures/x86-64-v4/structures/0/outer", "ten"}}), "x86-64-v4");
    refused(changed({{"/structures/x86-64-v4/structures/1/up_to", 1}}), "x86-64-v4");
    refused(changed({{"/structures/x86-64-v4/structures/1/fused", 1}}), "x86-64-v4");
    json other = tuning_of_shipped();
    other["structures"] = {{"x86-64-v2", json::parse(shipped("x86-64-v2.json"))}};
    refused(other, "--target x86-64-v2", Fault::usage);
    const auto deep = compiler::parse_tuning(R"({"tuning":)" + std::string(100000, '['), "t.json", {});
    CHECK(!deep);
}

namespace {

json gpu() {
    return {{"device", "Abacus 3"},
            {"driver", 7},
            {"bytes_per_ns", 1500.5},
            {"ns_per_dispatch", 2e4},
            {"busy_workgroups", 512}};
}

} // namespace

TEST_CASE("tuning: the costs of a GPU stand beside the tables, or alone") {
    const auto none = parsed(tuning_of_shipped());
    REQUIRE(none);
    CHECK(none->measured_device.empty());
    CHECK(none->costs().device.bytes_per_ns == compiler::costs::assumed_device.bytes_per_ns);
    CHECK(none->costs().device.ns_per_dispatch == compiler::costs::assumed_device.ns_per_dispatch);
    CHECK(none->costs().device.busy_workgroups == compiler::costs::assumed_device.busy_workgroups);
    json tuning = tuning_of_shipped();
    tuning["gpu"] = gpu();
    for (const json &file : {tuning, json{{"tuning", 1}, {"gpu", gpu()}}}) {
        const auto found = parsed(file);
        REQUIRE_MESSAGE(found, found.status().message());
        CHECK(found->measured_device == "Abacus 3");
        CHECK(found->costs().device.bytes_per_ns == 1500.5);
        CHECK(found->costs().device.ns_per_dispatch == 2e4);
        CHECK(found->costs().device.busy_workgroups == 512);
        const auto &direct = table_of("direct"); // the shipped table in both
        CHECK(found->costs().at(direct, 16) == compiler::costs::shipped().at(direct, 16));
    }
}

TEST_CASE("tuning: costs of a GPU that cannot be are refused with the key, the range and what to do") {
    const auto refused = [](const char *key, const json &value, const char *words) {
        json tuning{{"tuning", 1}, {"gpu", gpu()}};
        if (key) tuning["gpu"][key] = value;
        else tuning["gpu"] = value;
        if (value.is_null()) tuning["gpu"].erase(key);
        const auto result = parsed(tuning);
        REQUIRE_MESSAGE(!result, words);
        CHECK(result.status().fault() == Fault::input);
        for (const char *part :
             {"t.json: \"gpu\": ", words, ": measure again with `longwave tune --device vulkan`"})
            CHECK_MESSAGE(result.status().message().find(part) != std::string::npos,
                          result.status().message());
    };
    refused(nullptr, json::array(), "no object");
    refused("device", nullptr, "\"device\" must be the name");
    refused("device", "", "\"device\" must be the name");
    refused("device", 5, "\"device\" must be the name");
    for (const char *key : {"bytes_per_ns", "ns_per_dispatch", "busy_workgroups"}) {
        const std::string missing = "\"" + std::string(key) + "\" is missing",
                          range = "\"" + std::string(key) + "\" must be a number from ";
        refused(key, nullptr, missing.c_str());
        for (const json &bad : {json(0), json(-1), json(1e300), json("fast"), json(true), json::array({1})})
            refused(key, bad, range.c_str());
    }
    refused("bytes_per_ns", -1, "from 0.001 to 1000000, and is -1");
    const auto infinite = compiler::parse_tuning(
        R"({"tuning":1,"gpu":{"device":"d","bytes_per_ns":1e999,"ns_per_dispatch":1,"busy_workgroups":1}})",
        "t.json", {});
    CHECK(!infinite);
}

TEST_CASE("tuning: a search ends, takes the best, and goes on where it was") {
    for (const targets::Target &target : targets::all()) {
        const kernels::Measured measured = all_measured(target);
        CHECK(kernels::structure_total(target, measured) == measured.size());
        const auto table = kernels::structure_table(target, measured);
        REQUIRE(table.size() == kernels::structure_lengths().size());
        CHECK(table.back()["up_to"] == 1 << 22);
        // Any beginning of the search leads to the same end.
        kernels::Measured part;
        for (const auto &[name, result] : measured)
            if (name.rfind("structures 256: ", 0) == 0 && name.find(';') == std::string::npos)
                part[name] = result;
        const auto names = kernels::structure_names(target, part);
        const bool runoff = std::any_of(names.begin(), names.end(), [](const std::string &name) {
            return name.rfind("structures 256: ", 0) == 0 && name.find(';') != std::string::npos;
        });
        CHECK(runoff);
        CHECK(kernels::structure_table(target, part).size() == 1);
        CHECK(kernels::structure_table(target, {}).is_null());
        json tuning = {{"tuning", 1}, {"structures", {{target.name, {{"structures", table}}}}}};
        CHECK(compiler::parse_tuning(tuning.dump(), "t", {target}));
    }
}

TEST_CASE("tuning: a candidate that failed is passed over") {
    const targets::Target target = targets::x86_64_v4();
    kernels::Measured measured = all_measured(target);
    const auto best = kernels::structure_table(target, measured)[0];
    for (auto &[name, result] : measured)
        if (name.rfind("structures 256: ", 0) == 0) result = {{"failed", "ended by signal 11"}};
    const auto table = kernels::structure_table(target, measured);
    CHECK(table[0] != best);
    CHECK(table[0] == kernels::to_json(kernels::generic_structure(target), 256));
}

TEST_CASE("tuning: costs come of all rows or not at all") {
    // Row n of a table: place n + 1, then 0.5, then 0.25. A step of `dyadic` takes 0.25 in a cache,
    // and 0.75 as measured by `dyadic_memory`.
    kernels::Measured measured;
    for (const compiler::costs::CostTable *table : compiler::costs::all_tables())
        for (const uint32_t point : table->points) {
            json row = {point + 1, 0.5, 0.25};
            if (table->columns == 2) row = {point + 1, 0.5};
            if (table->columns == 1) row = 4.0;
            if (std::string(table->key) == "dyadic_memory") row = {point + 1, 0.75};
            measured[compiler::costs::row_name(*table, point)] = row;
        }
    const auto costs = kernels::assemble_costs(measured);
    REQUIRE(!costs.is_null());
    const auto tables = compiler::costs::parse(costs.dump());
    REQUIRE_MESSAGE(tables, tables.status().message());
    CHECK(tables->number(table_of("one_channel")) == 4.0);
    CHECK(tables->at(table_of("dyadic"), 16) == 0.5);
    CHECK(tables->at(table_of("dyadic_memory"), 1) == 0.5); // 0.75 less 0.25
    measured.erase("direct 1");
    CHECK(kernels::assemble_costs(measured).is_null());
}

TEST_CASE("tuning: structures have one text each") {
    const kernels::Structure structure{
        .vec = 8, .outer = 10, .columns = 64, .chunk = 2, .gap = 1, .fused = true};
    CHECK(kernels::to_text(structure) == "vec=8 outer=10 columns=64 chunk=2 gap=1 fused=1");
    CHECK(kernels::parse_structure(kernels::to_text(structure)) == structure);
    for (const char *bad : {"", "vec=8", "vec=8 outer=10 columns=64 chunk=2 gap=1 fused=2",
                            " vec=8 outer=10 columns=64 chunk=2 gap=1 fused=1"})
        CHECK(!kernels::parse_structure(bad));
    CHECK(kernels::plausible("cost direct 1", json{1, 0.5, 0.1}));
    CHECK(!kernels::plausible("cost direct 1", json{"a", 0.5}));
    CHECK(!kernels::plausible("structures 256: a; b", json::array({{{"ratio", 1.0}}})));
    CHECK(!kernels::plausible("anything", json(1)));
}

} // namespace tuning_test
