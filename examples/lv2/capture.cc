#include "capture.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

using Json = nlohmann::json;

struct Capture {
    std::string text;
    Json architecture, config; // as normal() writes it
    uint32_t rate = 0;         // 0: the file does not say
    std::vector<float> weights;
};

namespace {

// As the importer has them (docs/nam.md).
constexpr size_t most_bytes = 32 << 20, most_weights = 1 << 20;
constexpr int most_depth = 32;
constexpr uint32_t usual_rate = 48000;

struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Messages quote the file, and cut it between any two bytes: only ASCII reaches a log.
std::string printable(std::string text) {
    for (char &c : text)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    return text;
}

void tell(char why[REASON], const char *text) { std::snprintf(why, REASON, "%s", printable(text).c_str()); }

Json parsed(const char *bytes, size_t n) {
    if (n > most_bytes) throw Refused("has more than 33554432 bytes");
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json &value) {
        if (depth > most_depth) throw Refused("has more than 32 levels of lists and objects");
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end) keys.pop_back();
        if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
            throw Refused("has a key twice: " + value.get<std::string>().substr(0, 60));
        return true;
    };
    return Json::parse(bytes, bytes + n, watch);
}

// A value for all layers stands once, or as often as there are layers.
Json once(const Json &value, size_t layers) {
    const bool same =
        value.is_array() && !value.empty() && value.size() == layers && !value.front().is_array() &&
        std::all_of(value.begin(), value.end(), [&](const Json &each) { return each == value.front(); });
    return same ? value.front() : value;
}

bool active(const Json &part) { return part.is_object() && part.value("active", true); }

void drop_nulls(Json &object) {
    if (!object.is_object()) throw Refused("has a configuration that is not an object");
    for (auto at = object.begin(); at != object.end();) at = at->is_null() ? object.erase(at) : std::next(at);
}

Json activation(const Json &value) {
    if (value.is_array()) {
        Json made = Json::array();
        for (const Json &each : value) made.push_back(activation(each));
        return made;
    }
    Json made = value.is_string() ? Json{{"type", value}} : value;
    if (made.at("type") == "LeakyReLU" && !made.contains("negative_slope")) made["negative_slope"] = 0.01;
    return made;
}

// Layers of equal width. Versions of the format write the same in several ways: here there is one. A key that
// is not known stays, so such a capture equals no shape.
Json normal_array(Json array) {
    drop_nulls(array);
    const size_t layers = array.at("dilations").size();
    if (array.contains("kernel_size")) {
        array["kernel_sizes"] = array["kernel_size"];
        array.erase("kernel_size");
    }
    if (array.contains("kernel_sizes")) array["kernel_sizes"] = once(array["kernel_sizes"], layers);
    array["activation"] = once(activation(array.at("activation")), layers);
    const bool gated = array.value("gated", false);
    const Json modes = once(array.value("gating_mode", Json(gated ? "gated" : "none")), layers);
    array.erase("gated");
    array.erase("gating_mode");
    if (modes == "none") array.erase("secondary_activation");
    else array["gating_mode"] = modes;
    if (!array.contains("head"))
        array["head"] = {
            {"out_channels", array.at("head_size")}, {"kernel_size", 1}, {"bias", array.at("head_bias")}};
    array["head"].emplace("head_dilation", 1);
    array.erase("head_size");
    array.erase("head_bias");
    array.emplace("bottleneck", array.at("channels"));
    array.emplace("layer1x1", Json{{"active", true}, {"groups", 1}});
    array.emplace("groups_input", 1);
    array.emplace("groups_input_mixin", 1);
    for (auto at = array.begin(); at != array.end();) {
        const bool option = at.key() == "head1x1" || at.key().ends_with("_film");
        at = option && !active(*at) ? array.erase(at) : std::next(at);
    }
    return array;
}

Json normal(const Json &architecture, Json config) {
    drop_nulls(config);
    if (architecture != "WaveNet") return config;
    config.erase("head_scale"); // the last weight counts
    config.emplace("in_channels", 1);
    for (Json &array : config.at("layers")) array = normal_array(array);
    return config;
}

std::vector<float> numbers(const Json &list) {
    if (!list.is_array()) throw Refused("has no list of weights");
    if (list.size() > most_weights) throw Refused("has more than 1048576 weights");
    std::vector<float> made;
    made.reserve(list.size());
    for (const Json &each : list) {
        if (!each.is_number()) throw Refused("weight " + std::to_string(made.size()) + " is not a number");
        made.push_back(static_cast<float>(each.get<double>()));
        if (!std::isfinite(made.back()))
            throw Refused("weight " + std::to_string(made.size() - 1) + " is not a finite number of float32");
    }
    return made;
}

uint32_t rate_of(const Json &model) {
    const Json rate = model.value("sample_rate", Json());
    if (rate.is_null() || rate == -1) return 0;
    const double hz = rate.get<double>();
    if (!(hz >= 1000 && hz <= 768000 && hz == std::floor(hz))) throw Refused("has a strange sample rate");
    return static_cast<uint32_t>(hz);
}

void check_version(const Json &model) {
    const auto version = model.at("version").get<std::string>();
    int major = 0, minor = 0, patch = 0;
    if (std::sscanf(version.c_str(), "%4d.%4d.%4d", &major, &minor, &patch) != 3 || major != 0 || minor < 5 ||
        minor > 7)
        throw Refused("has the version " + version.substr(0, 20) + ": expected 0.5 to 0.7");
}

std::unique_ptr<Capture> capture_of(const Json &file) {
    check_version(file);
    const Json *model = &file;
    if (file.at("architecture") == "SlimmableContainer") {
        const Json &models = file.at("config").at("submodels");
        if (!models.is_array() || models.empty()) throw Refused("is a container without models");
        model = &models.back().at("model"); // the largest
        check_version(*model);
    }
    auto made = std::make_unique<Capture>();
    made->architecture = model->at("architecture");
    made->config = normal(made->architecture, model->at("config"));
    made->rate = rate_of(*model);
    if (!made->rate) made->rate = rate_of(file);
    made->weights = numbers(model->at("weights"));
    made->text = printable(made->architecture.get<std::string>().substr(0, 60)) + " with " +
                 std::to_string(made->weights.size()) + " weights";
    return made;
}

// A number of a map.
size_t number(const Json &value, size_t most) {
    if (!value.is_number_unsigned() || value > most) throw Refused("a map of the bundle is wrong");
    return value.get<size_t>();
}

size_t elements(const Json &shape, size_t most) {
    size_t n = 1;
    for (const Json &extent : shape) {
        n *= number(extent, most);
        if (n == 0 || n > most) throw Refused("a map of the bundle is wrong");
    }
    return n;
}

void safetensors(const Capture &capture, const Json &tensors, Fitted &fitted) {
    Json header = Json::object();
    std::vector<float> data;
    for (const Json &tensor : tensors) {
        const size_t n = elements(tensor.at("shape"), capture.weights.size());
        const size_t from = number(tensor.at("from"), capture.weights.size() - n);
        const float scale = number(tensor.at("scaled"), 1) ? capture.weights.back() : 1;
        const size_t begin = data.size() * sizeof(float);
        for (size_t i = 0; i < n; ++i) data.push_back(capture.weights[from + i] * scale);
        header[tensor.at("name").get<std::string>()] = {
            {"dtype", "F32"},
            {"shape", tensor.at("shape")},
            {"data_offsets", {begin, data.size() * sizeof(float)}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const uint64_t length = text.size();
    fitted.bytes = sizeof length + text.size() + data.size() * sizeof(float);
    auto *to = static_cast<char *>(std::malloc(fitted.bytes));
    if (!to) throw std::bad_alloc();
    fitted.weights = to;
    std::memcpy(to, &length, sizeof length);
    std::memcpy(to + sizeof length, text.data(), text.size());
    std::memcpy(to + sizeof length + text.size(), data.data(), data.size() * sizeof(float));
}

} // namespace

Capture *capture_parse(const char *bytes, size_t n, char why[REASON]) {
    try {
        return capture_of(parsed(bytes, n)).release();
    } catch (const std::exception &failure) {
        tell(why, failure.what());
    }
    return nullptr;
}

Capture *capture_read(const char *path, char why[REASON]) {
    struct stat about;
    if (stat(path, &about)) return tell(why, "cannot be opened: no such file, or no permission"), nullptr;
    if (!S_ISREG(about.st_mode)) return tell(why, "is not a regular file"), nullptr;
    if (static_cast<uint64_t>(about.st_size) > most_bytes)
        return tell(why, "has more than 33554432 bytes"), nullptr;
    const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path, "rb"), std::fclose);
    if (!file) return tell(why, "cannot be opened: no permission"), nullptr;
    const std::unique_ptr<char, void (*)(void *)> bytes(static_cast<char *>(std::malloc(most_bytes)),
                                                        std::free);
    if (!bytes) return tell(why, "no memory for the capture"), nullptr;
    return capture_parse(bytes.get(), std::fread(bytes.get(), 1, most_bytes, file.get()), why);
}

void capture_free(Capture *capture) { delete capture; }

const char *capture_text(const Capture *capture) { return capture->text.c_str(); }

int capture_fits(const Capture *capture, const char *map, size_t n, Fitted *fitted, char why[REASON]) {
    *fitted = {};
    try {
        const Json shape = parsed(map, n);
        if (shape.at("architecture") != capture->architecture) return 0;
        if (normal(shape.at("architecture"), shape.at("config")) != capture->config) return 0;
        if (shape.at("weights") != capture->weights.size())
            throw Refused("has " + std::to_string(capture->weights.size()) +
                          " weights: its configuration takes " + shape.at("weights").dump());
        fitted->rate = capture->rate ? capture->rate : usual_rate;
        fitted->remembers = static_cast<uint32_t>(number(shape.at("remembers"), UINT32_MAX));
        safetensors(*capture, shape.at("tensors"), *fitted);
        return 1;
    } catch (const std::exception &failure) {
        tell(why, failure.what());
    }
    return 0;
}
