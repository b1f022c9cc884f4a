// The compile report inside an artifact is whatever its maker wrote: `inspect` reads it with
// limits, and tells what is wrong with it.
#include "formats/artifact/write.h"
#include "tests/support/tiny_model.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/report.h"
#include "tools/cli/output/text.h"
#include <doctest/doctest.h>
#include <unistd.h>

namespace report_test {

using namespace longwave;
using nlohmann::ordered_json;

namespace {

std::string repeated(const std::string &text, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; i++) all += text;
    return all;
}

// `longwave inspect` of an artifact with this report, for people or as JSON.
Status inspect(const std::string &report, bool json) {
    test::Draft draft = test::audio_model();
    draft.plan.report = report;
    char path[] = "/tmp/longwave-report-XXXXXX";
    close(mkstemp(path));
    REQUIRE(artifact::write_file_atomically(path, draft.bytes()));
    cli::CommandLine program("", "longwave");
    const cli::Command command = cli::add_inspect(program);
    std::string words[] = {"longwave", "inspect", path, "--json"};
    char *arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data()};
    REQUIRE_FALSE(program.parse(json ? 4 : 3, arguments));
    const Status status = command.run();
    unlink(path);
    return status;
}

// Refused as a bad file, in one line that holds `words`.
void refused(const Status &status, const std::string &words) {
    CHECK(status.fault() == Fault::input);
    CHECK_MESSAGE(status.message().find(words) != std::string::npos, status.message());
    CHECK(status.message().find('\n') == std::string::npos);
}

const char *whole = R"({"name":"m","inputs":[{"name":"x","kind":"audio","sample_rate":16000}],
    "outputs":[{"name":"y","width":3}],"labels":3,"parameters":10,
    "layers":[{"layer":"a","ops":["long_conv"],"kernels":[{"entry":"stream 4","names":["k"]}],
               "algorithms":[{"entry":"stream 4","op":"long_conv","taps":4,"algorithm":"direct"}]}],
    "fusion":[{"pass":"fold_norms","error":1e-9}],"entries":[{"kind":"stream","delay":0,"block":4,"calls":1,"moved_bytes":64}],"state_bytes":64,
    "causal":true,"weights_bytes":40,"derived_bytes":0,"kernels":2,"targets":[{"name":"t","code_bytes":5}],
    "unused_weights":["w"]})";

} // namespace

TEST_CASE("inspect: a report that is nested 200,000 levels deep is refused, not followed") {
    for (const bool json : {false, true}) {
        refused(inspect(repeated("[", 200000) + repeated("]", 200000), json), "nested deeper than 32 levels");
        refused(inspect(repeated("{\"a\":", 200000) + "0" + repeated("}", 200000), json),
                "nested deeper than 32 levels");
        refused(inspect(repeated("[", 200000), json), "nested deeper");
    }
}

TEST_CASE("inspect: a report that is too large or not JSON is refused in one line") {
    refused(inspect("{", true), "line 1, column 1");
    refused(inspect("{\"name\": \"\xff\"}", true), "check V16 failed");
    refused(inspect("[" + repeated("0,", 2000000) + "0]", true), "values");
    std::string wide = "{";
    for (int i = 0; i < 100000; i++) wide += "\"" + std::to_string(i) + "\":0,";
    refused(inspect(wide + "\"x\":0}", true), "keys");
    refused(inspect(std::string(17 << 20, ' ') + "{}", true), "longer");
}

TEST_CASE("inspect: a report without all keys, or none at all, costs its words only") {
    CHECK(inspect(whole, false));
    CHECK(inspect(whole, true));
    CHECK(inspect("{}", false));
    CHECK(inspect("", false));
    CHECK(inspect("", true));
    CHECK(inspect("null", false));
    CHECK(inspect(R"({"name":null,"layers":null,"entries":null})", false));
}

TEST_CASE("inspect: a value of another type than the report has there is an error that names the place") {
    const std::pair<const char *, const char *> cases[] = {
        {"[]", "expected an object, found array"},
        {R"("text")", "expected an object"},
        {R"({"name":5})", "name: expected a text, found number"},
        {R"({"inputs":"x"})", "inputs: expected a list, found string"},
        {R"({"inputs":[5]})", "inputs[0]: expected an object"},
        {R"({"inputs":[{"kind":[]}]})", "inputs[0].kind: expected a text"},
        {R"({"labels":"many"})", "labels: expected a number"},
        {R"({"parameters":-1})", "parameters: expected a whole number"},
        {R"({"parameters":1e300})", "parameters: expected a whole number"},
        {R"({"parameters":1.5})", "parameters: expected a whole number"},
        {R"({"causal":"yes"})", "causal: expected true or false"},
        {R"({"entries":{}})", "entries: expected a list"},
        {R"({"entries":[true]})", "entries[0]: expected an object"},
        {R"({"layers":[{"ops":[7]}]})", "layers[0].ops[0]: expected a text, found number"},
        {R"({"layers":[{"kernels":"k"}]})", "layers[0].kernels: expected a list"},
        {R"({"layers":[{"ops":["x"],"algorithms":{}}]})", "layers[0].algorithms: expected a list"},
        {R"({"fusion":{"pass":1}})", "fusion: expected a list"},
        {R"({"no_stream":[]})", "no_stream: expected a text"},
        {R"({"unused_weights":[{}]})", "unused_weights[0]: expected a text"},
        {R"({"stored_weights":{"layers":[{"error":"1"}]}})",
         "stored_weights.layers[0].error: expected a number"},
    };
    for (const auto &[report, words] : cases) {
        CAPTURE(report);
        refused(inspect(report, false), words);
        CHECK(inspect(report, true)); // as JSON it is handed on as it is
    }
}

TEST_CASE("report: weights in fewer bytes have a line for each product, kernel and output") {
    const auto json = ordered_json::parse(
        R"({"stored_weights":{"layers":[{"layer":"a","format":"int8","error":0.0051,"largest":0.0039},
                                        {"layer":"b","format":"int8","error":0.0042,"largest":0.0038,"taps":true}],
                              "outputs":[{"name":"y","change":0.0123}]}})");
    const auto text = cli::report_text(json, "it");
    REQUIRE(text);
    CHECK(text->find("weights   2 tensors in fewer bytes; their error (L2, largest):\n") !=
          std::string::npos);
    CHECK(text->find(" int8  5.1e-03  3.9e-03\n") != std::string::npos);
    CHECK(text->find(" int8  4.2e-03  3.8e-03  taps\n") != std::string::npos);
    CHECK(text->find("output y differs by 1.2e-02 of its peak from float32 weights\n") != std::string::npos);
}

TEST_CASE("report: what takes several dispatches on a GPU has a line, one for all layers that take as many") {
    const std::string
        blocks = R"("algorithms":[{"entry":"run on vulkan-32k","op":"long_conv","taps":5000,
        "algorithm":"blocks","dispatches":3}]})",
        one = R"("algorithms":[{"entry":"run on vulkan-32k","op":"long_conv","algorithm":"fused"}]})";
    const auto json = ordered_json::parse(
        R"({"gpu":{"name":"vulkan-32k","kernels":2,"bytes":100},"targets":[{"name":"t","code_bytes":5}],
            "layers":[{"layer":"a","ops":["long_conv"],)" +
        blocks + R"(,{"layer":"b","ops":["long_conv"],)" + blocks + R"(,{"layer":"c","ops":["long_conv"],)" +
        one + "]}");
    const auto text = cli::report_text(json, "it");
    REQUIRE(text);
    CHECK_MESSAGE(text->find("a and 1 more: long_conv K=5000 blocks, 3 dispatches in run on vulkan-32k\n") !=
                      std::string::npos,
                  *text);
    CHECK(text->find("c: ") == std::string::npos);
}

TEST_CASE("report: the costs of a GPU are assumed, or those of the device that was measured") {
    auto json = ordered_json::parse(R"({"gpu":{"name":"vulkan-32k"},"targets":[{"name":"t"}]})");
    const auto text = [&] {
        const auto found = cli::report_text(json, "it");
        return found ? *found : found.status().message();
    };
    CHECK(text().find("costs:") == std::string::npos); // of an earlier version
    json["gpu"]["costs"] = "assumed";
    CHECK(text().find("          costs: assumed\n") != std::string::npos);
    json["gpu"]["costs"] = {{"measured", "Abacus\x1b 3"}};
    CHECK(text().find("          costs: measured on Abacus\\x1b 3\n") != std::string::npos);
    json["gpu"]["costs"] = 5;
    CHECK(text() == "it: gpu.costs: expected an object, found number");
}

TEST_CASE("report: layers beside a GPU have a line each: those of the CPU, or all by measured times") {
    auto json = ordered_json::parse(R"({"targets":[{"name":"t","code_bytes":5}],"kernels":2,
        "entries":[{"kind":"run","gpu":"vulkan-32k"}],
        "gpu":{"name":"vulkan-32k","kernels":2,"bytes":5,"placement":{"layers":[
            {"layer":"a","device":"gpu","cpu_us":90.0,"gpu_us":10.0,"why":"it takes less there"},
            {"layer":"b","device":"cpu","cpu_us":8.0,"gpu_us":null,"why":"does not run there"}],
            "submissions":2,"moves":3,"moved_bytes":4096,
            "predicted":{"on":"X and Y","us":55.0,"cpu_us":98.0,"gpu_us":null,"exact":true}}}})");
    const auto measured = cli::report_text(json, "it");
    REQUIRE(measured);
    for (const char *part :
         {"on the GPU: it takes less there (10 µs, on the CPU 90)\n", "on the CPU: does not run there\n",
          "3 transfers and ", "2 submissions; 55 µs by the measured times, 98 on the CPU alone\n"})
        CHECK_MESSAGE(measured->find(part) != std::string::npos, *measured);
    json["gpu"]["placement"].erase("predicted");
    const auto by_hand = cli::report_text(json, "it");
    REQUIRE(by_hand);
    CHECK(by_hand->find("on the GPU") == std::string::npos);
    CHECK(by_hand->find("on the CPU: does not run there\n") != std::string::npos);
    json["gpu"].erase("placement");
    json["gpu"]["no_runs"] = "no layer is left for it";
    json["entries"] = ordered_json::array();
    const auto none = cli::report_text(json, "it");
    REQUIRE(none);
    CHECK(none->find("gpu       no layer is left for it\n") != std::string::npos);
}

TEST_CASE("report: names cannot command the terminal") {
    const auto json = ordered_json::parse(R"({"name":"a\u001b[2Jb\u009bc\u007fd","no_stream":"x\u0007\ny"})");
    const auto text = cli::report_text(json, "it");
    REQUIRE(text);
    CHECK(text->find("a\\x1b[2Jb\\u009bc\\x7fd") != std::string::npos);
    CHECK(text->find("x\\x07\n          y") != std::string::npos);
    CHECK(cli::printable("größe → 1\tx\n") == "größe → 1\\x09x\\x0a");
}

TEST_CASE("limited JSON: what is within the limits is the document itself, its keys in their order") {
    const std::string text = R"({"b":[1,{"a":null}],"a":"\u00e9"})";
    const auto json = cli::parse_limited(text, "it");
    REQUIRE(json);
    CHECK(json->dump() == ordered_json::parse(text).dump());
    CHECK(json->begin().key() == "b");
    CHECK(cli::parse_limited(repeated("[", 32) + repeated("]", 32), "it"));
    CHECK(!cli::parse_limited(repeated("[", 33) + repeated("]", 33), "it"));
}

} // namespace report_test
