// Hostile descriptions: reading or refusing one takes time in proportion to its size. Growth is
// measured, not time: four times the bytes may take six times the CPU time, which holds on any
// machine, busy or not, and which no square survives.
#include "formats/package/package.h"
#include "formats/package/safetensors.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <doctest/doctest.h>
#include <functional>

namespace speed_test {

using namespace longwave;
using namespace longwave::package;

namespace {

constexpr size_t small = 250'000, large = 4 * small;

using Piece = std::function<std::string(size_t)>;

// head, then piece(0), piece(1), … up to so many bytes, then tail.
std::string grown(size_t bytes, std::string text, const Piece &piece, const std::string &tail) {
    for (size_t i = 0; text.size() + 600 < bytes; ++i) text += piece(i);
    return text + tail;
}

std::string repeated(size_t bytes, std::string head, const std::string &piece, const std::string &tail) {
    return grown(bytes, std::move(head), [&](size_t) { return piece; }, tail);
}

std::string numbered(const char *stem, size_t i) { return stem + std::to_string(i); }
std::string quoted(const std::string &text) { return '"' + text + '"'; }

const std::string format = R"({"format": "longwave-model", "version": 1, )";
const std::string head = format + R"("inputs": [{"name": "x", "kind": "features", "width": 4}], )";
const std::string layers = head + "\"layers\": [";
const std::string long_name(90, 'a');

double processor_seconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Read = std::function<Status(const std::string &text)>;

double seconds_to_refuse(const Read &read, const std::string &text) {
    const double start = processor_seconds();
    const Status status = read(text);
    const double seconds = processor_seconds() - start;
    CHECK_FALSE(status);
    CHECK(std::count(status.message().begin(), status.message().end(), '\n') <= 200);
    return seconds;
}

struct Description {
    const char *what;
    std::function<std::string(size_t bytes)> text;
};

// The best of five, less when that is enough. What takes less than a millisecond says nothing about
// growth.
void grows_in_proportion(const Description &description, const Read &read) {
    const std::string few = description.text(small), many = description.text(large);
    CHECK(few.size() < small + 1000);
    CHECK(many.size() < large + 1000);
    double of_few = 1e9, of_many = 1e9;
    const auto holds = [&] { return of_many <= 6 * std::max(of_few, 1e-3); };
    for (int round = 0; round < 5 && !holds(); ++round) {
        of_few = std::min(of_few, seconds_to_refuse(read, few));
        of_many = std::min(of_many, seconds_to_refuse(read, many));
    }
    CHECK_MESSAGE(holds(), std::string(description.what), " took ", of_few, " s, and four times as much ",
                  of_many, " s");
}

// A layer with a list of branches of this kind.
std::string with_branches(const char *kind) {
    std::string list = R"({"type":"branches","name":"n","branches":[)";
    for (int i = 0; i < 64; ++i) list += R"({"kind":")" + std::string(kind) + "\"},";
    list.back() = ']';
    return list + "},";
}

// `head` with so many labels, and the beginning of a decision.
std::string with_labels(const std::string &stem, size_t count) {
    std::string text = head + "\"labels\": [";
    for (size_t i = 0; i < count; ++i) text += quoted(stem + std::to_string(i)) + ",";
    text.back() = ']';
    return text + R"(, "decision": {"output": "y", )";
}

std::string deep_key_again_and_again(size_t bytes) {
    std::string open, close;
    for (int i = 0; i < 60; ++i) {
        open += "{\"" + std::string(79, 'k') + "\":";
        close += "}";
    }
    return repeated(bytes, open + "{\"a\":0", ",\"a\":0", "}" + close);
}

std::string labels_near_each_other(size_t bytes) {
    std::string text = with_labels(long_name, bytes / 111) + "\"ignore\": [";
    for (size_t i = 0; i < bytes / 2000; ++i)
        text += (i ? "," : "") + quoted(long_name + "b" + std::to_string(i));
    return text + "]}}";
}

std::string relu(const std::string &name, const std::string &input) {
    return R"({"type":"relu","name":")" + name + R"(","input":")" + input + "\"},";
}

} // namespace

TEST_CASE("package: four times the bytes of any description take at most six times the time to refuse") {
    const Description models[] = {
        {"numbers", [](size_t n) { return repeated(n, "{\"format\": [", "0,", "0]}"); }},
        {"lists", [](size_t n) { return repeated(n, "{\"format\": [", "[],", "0]}"); }},
        {"brackets", [](size_t n) { return std::string(n, '['); }},
        {"braces", [](size_t n) { return std::string(n, '{'); }},
        {"unknown keys near known ones",
         [](size_t n) {
             return grown(
                 n, head + "\"name\": \"x\"", [](size_t i) { return numbered(",\"outputs", i) + "\":0"; },
                 "}");
         }},
        {"one key again and again", [](size_t n) { return repeated(n, "{\"a\":0", ",\"a\":0", "}"); }},
        {"a deep key again and again", deep_key_again_and_again},
        {"references near every name",
         [](size_t n) {
             const Piece layer = [](size_t i) {
                 return relu(long_name + numbered("", i), long_name + numbered("b", i));
             };
             return grown(n, layers, layer, "0]}");
         }},
        {"short references to nothing",
         [](size_t n) {
             return grown(n, layers, [](size_t i) { return relu(numbered("n", i), "q"); }, "0]}");
         }},
        {"layers without anything", [](size_t n) { return repeated(n, layers, "{},", "{}]}"); }},
        {"unknown layer types",
         [](size_t n) {
             const std::string type = R"(","type":")" + std::string(50, 'z') + "\"},";
             return grown(
                 n, layers, [&](size_t i) { return R"({"name":")" + numbered("a", i) + type; }, "{}]}");
         }},
        {"unknown options of layers",
         [](size_t n) {
             const Piece option = [](size_t i) { return numbered(",\"kernel_di", i) + "\":0"; };
             return grown(n, layers + "{\"type\":\"sgconv\",\"name\":\"a\"", option, "}]}");
         }},
        {"many layers with many options left out",
         [](size_t n) {
             const Piece layer = [](size_t i) {
                 return R"({"type":"sgconv","name":")" + numbered("n", i) + "\"},";
             };
             return grown(n, layers, layer, "0]}");
         }},
        {"branches", [](size_t n) { return repeated(n, layers, with_branches("identity"), "0]}"); }},
        {"branches of no kind",
         [](size_t n) { return repeated(n, layers, with_branches("identitx"), "0]}"); }},
        {"keys of parameters",
         [](size_t n) {
             const Piece key = [](size_t i) { return numbered(",\"kernel_list.", i) + "\":\"k\""; };
             const char *sgconv = R"({"type":"sgconv","name":"a","kernel_dim":4,"l_max":4,"keys":{"D":"d")";
             return grown(n, layers + sgconv, key, "}}]}");
         }},
        {"labels that all are ignored by another name",
         [](size_t n) {
             const Piece word = [](size_t i) { return quoted(numbered("m", i)) + ","; };
             return grown(n, with_labels("l", n / 25) + "\"ignore\": [", word, "0]}}");
         }},
        {"thresholds of no label",
         [](size_t n) {
             const Piece word = [](size_t i) { return "," + quoted(numbered("m", i)) + ":0"; };
             return grown(n, with_labels("l", n / 25) + R"("threshold": {"default": 0.5)", word, "}}}");
         }},
        {"labels near each other", labels_near_each_other},
        {"labels all the same",
         [](size_t n) { return repeated(n, head + "\"labels\": [", "\"a\",", "0]}"); }},
        {"outputs",
         [](size_t n) { return repeated(n, head + "\"outputs\": [", R"({"name":"y","from":"y"},)", "0]}"); }},
        {"inputs",
         [](size_t n) { return repeated(n, format + "\"inputs\": [", "{\"name\":\"y\"},", "0]}"); }},
        {"a text", [](size_t n) { return repeated(n, format + "\"name\": \"", "aaaaaaaaaaaaaaaa", "\"}"); }},
        {"control characters",
         [](size_t n) { return repeated(n, format + "\"name\": \"", "\\u0001", "\"}"); }},
    };
    for (const Description &model : models)
        grows_in_proportion(model, [](const std::string &text) { return package::parse(text, {}).status(); });
}

namespace {

// {"0": value, "1": value, …}
Description tensors(const char *what, const char *value) {
    const std::string end = std::string(":") + value;
    return {what, [end](size_t n) {
                return grown(
                    n, "{\"__metadata__\":{}", [&](size_t i) { return "," + quoted(numbered("", i)) + end; },
                    "}");
            }};
}

std::vector<uint8_t> safetensors_file(const std::string &header) {
    std::vector<uint8_t> bytes(8);
    const uint64_t size = header.size();
    std::memcpy(bytes.data(), &size, 8);
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.push_back(0); // behind the last tensor
    return bytes;
}

} // namespace

TEST_CASE("safetensors: four times the bytes of any header take at most six times the time to refuse") {
    const Piece key = [](size_t i) { return "," + quoted(numbered("", i)) + ":0"; };
    const Description headers[] = {
        tensors("tensors that are numbers", "0"),
        tensors("tensors without anything", "{}"),
        tensors("tensors that overlap", R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"),
        tensors("tensors of unknown types", R"({"dtype":"F8","shape":[],"data_offsets":[]})"),
        tensors("empty tensors and a byte too many", R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})"),
        {"one tensor again and again", [](size_t n) { return repeated(n, "{\"a\":0", ",\"a\":0", "}"); }},
        {"a shape",
         [](size_t n) {
             return repeated(n, R"({"a":{"dtype":"F32","data_offsets":[0,0],"shape":[1)", ",1", "]}}");
         }},
        {"offsets",
         [](size_t n) {
             return repeated(n, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[1)", ",1", "]}}");
         }},
        {"keys of a tensor", [&](size_t n) { return grown(n, R"({"a":{"dtype":"F32")", key, "}}"); }},
        {"metadata", [&](size_t n) { return grown(n, R"({"__metadata__":{"a":"b")", key, "}}"); }},
    };
    for (const Description &header : headers)
        grows_in_proportion(header, [](const std::string &text) {
            return parse_safetensors(safetensors_file(text), "weights.safetensors").status();
        });
}

} // namespace speed_test
