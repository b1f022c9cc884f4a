#include "tools/cli/audio/samples.h"
#include "formats/audio/audio.h"
#include "tools/cli/files/npy.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cmath>
#include <filesystem>

namespace longwave::cli {

uint64_t Random::next() { // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

double Random::normal() {
    double sum = -6; // Irwin-Hall: close enough, without libm
    for (int i = 0; i < 12; i++) sum += uniform();
    return sum;
}

namespace {

void make_up(const lw_input_info &input, size_t rows, Random &random, std::vector<float> &floats,
             std::vector<int32_t> &ids) {
    if (input.kind == LW_INPUT_TOKENS) {
        for (size_t i = 0; i < rows; i++) ids.push_back(static_cast<int32_t>(random.below(input.vocabulary)));
    } else if (input.kind == LW_INPUT_FEATURES) {
        for (size_t i = 0; i < rows * input.width; i++) floats.push_back(static_cast<float>(random.normal()));
    } else {
        // Noise of a changing colour whose level moves between silence and loud speech every 50 ms.
        double level = 0, target = 0.1, colour = 0, last = 0;
        for (size_t i = 0; i < rows; i++) {
            if (i % 800 == 0) {
                target = 0.3 * random.uniform() * random.uniform();
                colour = 0.95 * random.uniform();
            }
            level += 0.005 * (target - level);
            last = colour * last + random.normal();
            floats.push_back(static_cast<float>(level * last * (1 - colour * 0.8)));
        }
    }
}

std::string list_text(const std::vector<uint64_t> &shape) {
    std::string text;
    for (const uint64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return "[" + text + "]";
}

// The same shapes as in Python. Two axes of audio may be channels, or clips: neither is guessed.
Status check_shape(const lw_input_info &input, const Array &array, const std::string &what) {
    const auto &shape = array.shape;
    if ((shape.size() == 2 && shape[1] == input.width) || (shape.size() == 1 && input.width == 1)) return {};
    return Status::input(what + ": has the shape " + list_text(shape) + ", and input " + input.name +
                         " takes [rows, " + std::to_string(input.width) + "]" +
                         (input.width == 1 ? " or [rows]" : "") +
                         (input.kind == LW_INPUT_AUDIO && shape.size() == 2 ? "; choose one channel" : ""));
}

// What 1.0 is in the array's elements.
Expected<double> full_scale(const lw_input_info &input, const Array &array, const std::string &what) {
    if (array.type[0] == 'f' || input.kind == LW_INPUT_TOKENS) return 1.0;
    if (input.kind == LW_INPUT_AUDIO && array.type == "i2") return 32768.0;
    if (input.kind == LW_INPUT_AUDIO && array.type == "i4") return 2147483648.0;
    return Status::input(what + ": element type " + array.type + "; input " + input.name +
                         " takes float32 or float64" +
                         (input.kind == LW_INPUT_AUDIO ? ", int16 or int32" : ""));
}

Status from_array(const lw_input_info &input, const Array &array, const std::string &what,
                  std::vector<float> &floats, std::vector<int32_t> &ids) {
    LW_TRY(check_shape(input, array, what));
    LW_ASSIGN(const double scale, full_scale(input, array, what));
    for (double value : array.data) {
        if (input.kind != LW_INPUT_TOKENS) {
            floats.push_back(static_cast<float>(value / scale));
        } else if (value != std::floor(value) || value < 0 || value >= input.vocabulary) {
            return Status::input(what + ": token id " + format("%g", value) +
                                 " is out of range: the vocabulary has ids 0 to " +
                                 std::to_string(input.vocabulary - 1));
        } else {
            ids.push_back(static_cast<int32_t>(value));
        }
    }
    return {};
}

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Status check_capacity(const Model &model, const std::string &text, uint64_t rows, uint64_t most) {
    if (rows <= most) return {};
    return Status::input("--input " + text + ": has " + std::to_string(rows) +
                         " rows, but an offline run of this model takes at most " + std::to_string(most) +
                         "; compile it with a larger --length" +
                         (model.info.has_stream ? ", or pass --stream" : ""));
}

Expected<size_t> rows_of_shape(const lw_input_info &input, const std::string &text) {
    const auto wrong = [&] {
        return Status::usage("--input " + std::string(input.name) + "=" + text +
                             ": expected a file (@file.npy, @file.wav) or a shape (ROWS or ROWSx" +
                             std::to_string(input.width) + ")");
    };
    char *end = nullptr;
    const unsigned long long rows = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || text[0] < '0' || text[0] > '9' || rows == 0 || rows > 1u << 30) return wrong();
    if (*end == 'x' || *end == ',') {
        if (std::strtoull(end + 1, &end, 10) != input.width) return wrong();
    }
    if (*end) return wrong();
    return static_cast<size_t>(rows);
}

} // namespace

Sequence made_up(const Model &model, size_t rows, uint64_t seed) {
    Sequence result;
    result.rows = rows;
    result.floats.resize(model.inputs.size());
    result.ids.resize(model.inputs.size());
    Random random(seed);
    for (size_t i = 0; i < model.inputs.size(); i++)
        make_up(model.inputs[i], rows, random, result.floats[i], result.ids[i]);
    return result;
}

Expected<Sequence> read_inputs(const Model &model, const std::vector<std::string> &given, bool resample,
                               uint32_t channel, uint64_t most) {
    Sequence result;
    result.floats.resize(model.inputs.size());
    result.ids.resize(model.inputs.size());
    std::vector<bool> have(model.inputs.size());
    Random random(1);
    for (const std::string &text : given) {
        size_t index = 0, equals = text.find('=');
        if (equals == std::string::npos && model.inputs.size() != 1)
            return Status::usage("--input " + text +
                                 ": the model has several inputs; choose one with NAME=VALUE");
        if (equals != std::string::npos) {
            while (index < model.inputs.size() && text.substr(0, equals) != model.inputs[index].name) index++;
            if (index == model.inputs.size()) {
                std::string names;
                for (const auto &input : model.inputs)
                    names.append(names.empty() ? "" : ", ").append(input.name);
                return Status::usage("--input " + text + ": unknown input; the model has " + names);
            }
        }
        if (have[index]) return Status::usage("--input " + text + ": this input is given twice");
        have[index] = true;
        const lw_input_info &input = model.inputs[index];
        const std::string value = equals == std::string::npos ? text : text.substr(equals + 1);
        auto &floats = result.floats[index];
        auto &ids = result.ids[index];
        if (value.empty() || value[0] != '@') {
            if (std::error_code error; std::filesystem::is_regular_file(value, error))
                return Status::usage("--input " + text + ": a file needs @; did you mean --input " +
                                     (equals == std::string::npos ? "" : text.substr(0, equals + 1)) + "@" +
                                     value + "?");
            LW_ASSIGN(const size_t rows, rows_of_shape(input, value));
            LW_TRY(check_capacity(model, text, rows, most)); // before memory is spent on them
            make_up(input, rows, random, floats, ids);
        } else if (const std::string path = value.substr(1); ends_with(path, ".npy")) {
            LW_ASSIGN(const Array array, read_npy(path));
            LW_TRY(from_array(input, array, path, floats, ids));
        } else {
            if (input.kind != LW_INPUT_AUDIO)
                return Status::usage("--input " + text + ": input " + input.name + " needs a .npy file");
            audio::Options options;
            options.sample_rate = input.sample_rate;
            options.resample = resample;
            options.channel = channel;
            options.warn = print_warning;
            LW_ASSIGN(audio::Audio audio, audio::read(path, options));
            floats = std::move(audio.samples);
        }
        const size_t rows = input.kind == LW_INPUT_TOKENS ? ids.size() : floats.size() / input.width;
        if (rows == 0) return Status::input("--input " + text + ": contains no rows");
        LW_TRY(check_capacity(model, text, rows, most));
        if (result.rows != 0 && rows != result.rows)
            return Status::input("--input " + text + ": has " + std::to_string(rows) +
                                 " rows, but the previous input has " + std::to_string(result.rows) +
                                 "; all inputs of a run need the same number");
        result.rows = rows;
    }
    for (size_t i = 0; i < have.size(); i++)
        if (!have[i])
            return Status::usage(std::string("input ") + model.inputs[i].name + " is missing (--input " +
                                 model.inputs[i].name + "=...)");
    return result;
}

} // namespace longwave::cli
