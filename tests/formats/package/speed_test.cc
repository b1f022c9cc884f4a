// Hostile descriptions: a megabyte of anything is read or refused in a tenth of a second of processor time.
#include "formats/package/safetensors.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <doctest/doctest.h>
#include <functional>

using namespace longwave;
using namespace longwave::package;

namespace {

constexpr size_t megabyte = 1'000'000;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr double limit = 5;
#else
constexpr double limit = 0.1;
#endif

// head, then piece(0), piece(1), … up to a megabyte, then tail.
std::string grown(std::string text, const std::function<std::string(size_t)> &piece, const std::string &tail) {
    for (size_t i = 0; text.size() + 600 < megabyte; ++i) text += piece(i);
    return text + tail;
}

std::string numbered(const char *stem, size_t i) { return stem + std::to_string(i); }
std::string quoted(const std::string &text) { return '"' + text + '"'; }

const std::string head = R"({"format": "longwave-model", "version": 1, )";
const std::string inputs = R"("inputs": [{"name": "x", "kind": "features", "width": 4}], )";
const std::string long_name(90, 'a');

double processor_seconds() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Read> void quick(const char *what, Read &&read) {
    const double start = processor_seconds();
    const Status status = read();
    const double seconds = processor_seconds() - start;
    CHECK_MESSAGE(seconds < limit, std::string(what), " took ", seconds, " s");
    CHECK_FALSE(status);
    CHECK(std::count(status.message().begin(), status.message().end(), '\n') <= 200);
}

} // namespace

TEST_CASE("package: a megabyte of any description is refused in a tenth of a second") {
    const std::pair<const char *, std::string> models[] = {
        {"numbers", grown(
                        "{\"format\": [", [](size_t) { return "0,"; }, "0]}")},
        {"lists", grown(
                      "{\"format\": [", [](size_t) { return "[],"; }, "0]}")},
        {"brackets", std::string(megabyte, '[')},
        {"unknown keys near known ones",
         grown(
             head + inputs + "\"name\": \"x\"", [](size_t i) { return ",\"outputs" + std::to_string(i) + "\":0"; }, "}")},
        {"one key again and again", grown(
                                        "{\"a\":0", [](size_t) { return ",\"a\":0"; }, "}")},
        {"a deep key again and again",
         [] {
             std::string open, close;
             for (int i = 0; i < 60; ++i) open += "{\"" + std::string(79, 'k') + "\":", close += "}";
             return grown(
                 open + "{\"a\":0", [](size_t) { return ",\"a\":0"; }, "}" + close);
         }()},
        {"references near every name", grown(
                                           head + inputs + "\"layers\": [",
                                           [](size_t i) {
                                               return R"({"type": "relu", "name": ")" + long_name + std::to_string(i) + R"(", "input": ")" +
                                                      long_name + "b" + std::to_string(i) + "\"},";
                                           },
                                           "0]}")},
        {"short references to nothing", grown(
                                            head + inputs + "\"layers\": [",
                                            [](size_t i) { return R"({"type":"relu","name":")" + numbered("n", i) + R"(","input":"q"},)"; }, "0]}")},
        {"layers without anything", grown(
                                        head + inputs + "\"layers\": [", [](size_t) { return "{},"; }, "{}]}")},
        {"unknown layer types",
         grown(
             head + inputs + "\"layers\": [",
             [](size_t i) { return R"({"name":"a)" + std::to_string(i) + R"(","type":")" + std::string(50, 'z') + "\"},"; }, "{}]}")},
        {"unknown options of layers", grown(
                                          head + inputs + "\"layers\": [{\"type\":\"sgconv\",\"name\":\"a\"",
                                          [](size_t i) { return ",\"kernel_di" + std::to_string(i) + "\":0"; }, "}]}")},
        {"many layers with many options left out",
         grown(
             head + inputs + "\"layers\": [", [](size_t i) { return R"({"type":"sgconv","name":")" + numbered("n", i) + "\"},"; }, "0]}")},
        {"branches",
         [] {
             std::string list = R"({"type":"branches","name":"n","branches":[)";
             for (int i = 0; i < 64; ++i) list += R"({"kind":"identity"},)";
             list.back() = ']';
             return grown(
                 head + inputs + "\"layers\": [", [&](size_t) { return list + "},"; }, "0]}");
         }()},
        {"branches of no kind",
         [] {
             std::string list = R"({"type":"branches","name":"n","branches":[)";
             for (int i = 0; i < 64; ++i) list += R"({"kind":"identitx"},)";
             list.back() = ']';
             return grown(
                 head + inputs + "\"layers\": [", [&](size_t) { return list + "},"; }, "0]}");
         }()},
        {"keys of parameters", grown(
                                   head + inputs + R"("layers": [{"type":"sgconv","name":"a","kernel_dim":4,"l_max":4,"keys":{"D":"d")",
                                   [](size_t i) { return ",\"kernel_list." + std::to_string(i) + "\":\"k\""; }, "}}]}")},
        {"labels that all are ignored by another name",
         [] {
             std::string text = head + inputs + "\"labels\": [";
             for (int i = 0; i < 40'000; ++i) text += quoted(numbered("l", static_cast<size_t>(i))) + ",";
             text.back() = ']';
             return grown(
                 text + ", \"decision\": {\"output\": \"y\", \"ignore\": [", [](size_t i) { return quoted(numbered("m", i)) + ","; }, "0]}}");
         }()},
        {"thresholds of no label",
         [] {
             std::string text = head + inputs + "\"labels\": [";
             for (int i = 0; i < 40'000; ++i) text += quoted(numbered("l", static_cast<size_t>(i))) + ",";
             text.back() = ']';
             return grown(
                 text + ", \"decision\": {\"output\": \"y\", \"threshold\": {\"default\": 0.5",
                 [](size_t i) { return "," + quoted(numbered("m", i)) + ":0"; }, "}}}");
         }()},
        {"labels near each other",
         [] {
             std::string text = head + inputs + "\"labels\": [";
             for (int i = 0; i < 9'000; ++i) text += quoted(long_name + std::to_string(i)) + ",";
             text.back() = ']';
             return text + ", \"decision\": {\"output\": \"y\", \"ignore\": [" + [] {
                 std::string list;
                 for (int i = 0; i < 500; ++i) list += (i ? "," : "") + quoted(long_name + "b" + std::to_string(i));
                 return list;
             }() + "]}}";
         }()},
        {"labels all the same", grown(
                                    head + inputs + "\"labels\": [", [](size_t) { return "\"a\","; }, "0]}")},
        {"outputs", grown(
                        head + inputs + "\"outputs\": [", [](size_t) { return "{\"name\":\"y\",\"from\":\"y\"},"; }, "0]}")},
        {"inputs", grown(
                       head + "\"inputs\": [", [](size_t) { return "{\"name\":\"y\"},"; }, "0]}")},
        {"a text", grown(
                       head + "\"name\": \"", [](size_t) { return "aaaaaaaaaaaaaaaa"; }, "\"}")},
        {"control characters", grown(
                                   head + "\"name\": \"", [](size_t) { return "\\u0001"; }, "\"}")},
    };
    for (const auto &[what, text] : models) {
        CHECK(text.size() < megabyte + 1000);
        quick(what, [&, &text = text] { return package::parse(text, {}).status(); });
    }
}

TEST_CASE("safetensors: a megabyte of any header is refused in a tenth of a second") {
    const std::pair<const char *, std::string> headers[] = {
        {"tensors that are numbers", grown(
                                         "{\"a\":0", [](size_t i) { return "," + quoted(numbered("", i)) + ":0"; }, "}")},
        {"tensors without anything", grown(
                                         "{\"a\":0", [](size_t i) { return "," + quoted(numbered("", i)) + ":{}"; }, "}")},
        {"tensors that overlap",
         grown(
             "{\"__metadata__\":{}", [](size_t i) { return "," + quoted(numbered("", i)) + R"(:{"dtype":"F32","shape":[1],"data_offsets":[0,4]})"; },
             "}")},
        {"tensors of unknown types",
         grown(
             "{\"__metadata__\":{}", [](size_t i) { return "," + quoted(numbered("", i)) + R"(:{"dtype":"F8","shape":[],"data_offsets":[]})"; },
             "}")},
        {"one tensor again and again", grown(
                                           "{\"a\":0", [](size_t) { return ",\"a\":0"; }, "}")},
        {"a shape", grown(
                        "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,0],\"shape\":[1", [](size_t) { return ",1"; }, "]}}")},
        {"offsets", grown(
                        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1", [](size_t) { return ",1"; }, "]}}")},
        {"keys of a tensor", grown(
                                 "{\"a\":{\"dtype\":\"F32\"", [](size_t i) { return "," + quoted(numbered("", i)) + ":0"; }, "}}")},
        {"metadata", grown(
                         "{\"__metadata__\":{\"a\":\"b\"", [](size_t i) { return "," + quoted(numbered("", i)) + ":0"; }, "}}")},
        {"empty tensors and a byte too many",
         grown(
             "{\"__metadata__\":{}", [](size_t i) { return "," + quoted(numbered("", i)) + R"(:{"dtype":"F32","shape":[0],"data_offsets":[0,0]})"; },
             "}")},
    };
    for (const auto &[what, text] : headers) {
        std::vector<uint8_t> bytes(8);
        const uint64_t size = text.size();
        std::memcpy(bytes.data(), &size, 8);
        bytes.insert(bytes.end(), text.begin(), text.end());
        bytes.push_back(0); // behind the last tensor
        quick(what, [&] { return parse_safetensors(bytes, "weights.safetensors").status(); });
    }
}
