// make_seeds FOLDER: what fuzzing starts from, made of the tree's own tests and examples:
// FOLDER/<target>/* and FOLDER/<target>.dict. Run from the root of the tree.
#include "compiler/codegen/kernel_entry.h"
#include "compiler/ir/op.h"
#include "compiler/ir/text.h"
#include "compiler/layers/lower.h"
#include "formats/artifact/recipe_schema.h"
#include "formats/huggingface/architectures.h"
#include "formats/package/layer_types.h"
#include "longwave/longwave.h"
#include "tests/fuzz/pack_shape.h"
#include "tests/fuzz/plugin_seeds.h"
#include "tests/fuzz/text_seeds.h"
#include "tests/support/named_state.h"
#include "tests/support/options.h"
#include "tests/support/speech_options.h"
#include "tests/support/tiny_filters.h"
#include "tests/support/tiny_gpu.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/formats/huggingface/small_models.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sndfile.h>
#include <sstream>

using namespace longwave;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path root;

template <class Bytes> void put(const std::string &name, const Bytes &bytes) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::string text_of(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// ---- artifacts and states ----

// The audio model with a golden vector of its stream and of its run; the numbers in it need not be
// right.
test::Draft golden_model() {
    test::Draft draft = test::audio_model();
    draft.segments.push_back({fb::SegmentKind::golden, std::vector<uint8_t>(192)});
    for (const uint16_t entry : {1, 2}) test::add_golden(draft, entry, 24, 0.5f);
    return draft;
}

// Takes more scratch to prepare than any limit allows.
test::Draft greedy_model() {
    test::Draft draft = test::audio_model();
    draft.plan.variants[0]->scratch[0] = uint64_t{1} << 40;
    return draft;
}

// Its code is elsewhere: opening it without a table ends with a status.
test::Draft codeless_model() {
    test::Draft draft = test::spotter_model();
    draft.plan.variants[0]->image.assign(32, 1);
    draft.plan.variants[0]->entry.clear();
    draft.segments.erase(draft.segments.begin());
    return draft;
}

// Has to run through a long delay before its stream ends.
test::Draft patient_model() { return test::timing_model({.block = 4, .delay = 1 << 20}); }

void artifacts() {
    const std::pair<const char *, test::Draft> drafts[] = {
        {"audio", test::audio_model()},
        {"begun", test::begun_model()},
        {"family", test::family_model()},
        {"gpu", test::gpu_model()},
        {"mixed", test::mixed_model()},
        {"tokens", test::token_model()},
        {"spotter", test::spotter_model()},
        {"together", test::together_model()},
        {"failing", test::failing_model()},
        {"timing", test::timing_model({.block = 2, .period = 3, .phase = 1})},
        {"golden", golden_model()},
        {"codeless", codeless_model()},
        {"greedy", greedy_model()},
        {"filter", test::late_model({16000, 8, 4, 6, 4})},
        {"patient", patient_model()}};
    for (const auto &[name, draft] : drafts) put(std::string("artifact/") + name, draft.bytes());
}

// States of the models of stream_state after a few ticks, with rows waiting and without, open and
// finished.
void states() {
    const struct {
        const char *name;
        test::Draft draft;
        uint8_t picks; // the first byte of a seed
    } models[] = {{"audio", test::audio_model(), 0},
                  {"tokens", test::token_model(), 1},
                  {"family", test::family_model(), 4},
                  {"named_audio", test::named_state(test::audio_model(), test::audio_block, 8), 8},
                  {"named_tokens", test::named_state(test::token_model(), 1, 1), 9}};
    for (const auto &[name, draft, picks] : models) {
        const std::vector<uint8_t> bytes = draft.bytes();
        lw_open_options options{};
        options.struct_size = sizeof options;
        options.allow_unsigned_code = 1;
        lw_model *model = nullptr;
        if (lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) != LW_OK) exit(1);
        for (const size_t ticks : {size_t{0}, size_t{3}, size_t{5}, size_t{9}})
            for (const bool finished : {false, true}) {
                lw_stream *stream = nullptr;
                if (lw_stream_create(model, test::plain_stream(model), &stream) != LW_OK) exit(1);
                const int32_t samples[9] = {
                    0, 1, 2, 3, 4, 3, 2, 1, 0}; // as floats they are denormals: numbers like any other
                size_t n = 0;
                lw_stream_push(stream, samples, ticks, &n);
                if (finished) lw_stream_finish(stream);
                lw_stream_save(stream, nullptr, 0, &n);
                std::vector<uint8_t> state(2 + n);
                state[0] = picks;
                state[1] = 20;
                lw_stream_save(stream, state.data() + 2, n, &n);
                put("stream_state/" + std::string(name) + std::to_string(ticks) +
                        (finished ? "_finished" : ""),
                    state);
                lw_stream_destroy(stream);
            }
        lw_model_close(model);
    }
}

// States of the detector of speech_state, in speech, in a pause and after the end.
void speech_states() {
    const std::vector<uint8_t> bytes = test::speech_model(16000, 16).bytes();
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1;
    lw_model *model = nullptr;
    if (lw_model_open_memory(bytes.data(), bytes.size(), &open, &model) != LW_OK) exit(1);
    const std::vector<float> loud(7000, 1), quiet(1000);
    for (uint8_t pauses = 0; pauses < 4; pauses++)
        for (uint8_t settings = 0; settings < 4; settings++) {
            lw_speech_detector *detector = nullptr;
            if (lw_speech_detector_create(model, &test::f32_speech, &detector) != LW_OK) exit(1);
            for (uint8_t i = 0; i < pauses; i++) {
                lw_speech_detector_push(detector, loud.data(), loud.size(), nullptr);
                lw_speech_detector_push(detector, quiet.data(), quiet.size(), nullptr);
            }
            if (settings == 3) lw_speech_detector_finish(detector);
            size_t n = 0;
            lw_speech_detector_save(detector, nullptr, 0, &n);
            std::vector<uint8_t> state(2 + n);
            state[0] = static_cast<uint8_t>(1 | settings << 1 | (pauses & 1) << 3);
            state[1] = 200;
            lw_speech_detector_save(detector, state.data() + 2, n, &n);
            put("speech_state/" + std::to_string(pauses) + std::to_string(settings), state);
            lw_speech_detector_destroy(detector);
        }
    lw_model_close(model);
}

// Calls on each model of audio_stream, live or not, at its own rates and at others.
void audio_streams() {
    for (uint8_t model = 0; model < 8; model++)
        for (uint8_t how = 0; how < 8; how++) {
            const uint8_t in = how & 4 ? 7 : 0, out = how & 4 ? 6 : 0, both = how & 2;
            put("audio_stream/" + std::to_string(model) + std::to_string(how),
                std::vector<uint8_t>{model, static_cast<uint8_t>(how & 3),
                                     in,    both ? in : out,
                                     1,     how,
                                     0x30,  200,
                                     0x33,  255,
                                     5,     64,
                                     0,     1,
                                     3,     7,
                                     0x31,  130,
                                     0x34,  255,
                                     6,     0,
                                     0x33,  255,
                                     0x33,  255,
                                     7,     0,
                                     0x35,  99,
                                     5,     1,
                                     6,     0,
                                     0x33,  255});
        }
}

// ---- packages and graphs ----

void packages() {
    for (const fs::path folder : {"examples/packages/tiny", "examples/packages/pair"}) {
        const std::string json = text_of(folder / "model.json"),
                          weights = text_of(folder / "weights.safetensors");
        put("package/" + folder.filename().string(), json + '\0' + weights);
        const size_t header = 8 + static_cast<size_t>(*reinterpret_cast<const uint64_t *>(weights.data()));
        put("package/" + folder.filename().string() + "_without_length",
            json + '\0' + weights.substr(8, header - 8) + '\0' + weights.substr(header));
        if (const auto package = package::read(folder); package)
            if (const auto graph = compiler::lower(*package); graph)
                put("graph_text/" + folder.filename().string(), ir::print(*graph));
    }
    put("package/kws", text_of("examples/kws/model/model.json"));

    // One layer of each type, each attribute at its least value; the weights are missing, so all of
    // the lowering is gone through and complains.
    for (const auto &type : package::layer_types()) {
        json layer = {{"type", type.name}, {"name", "a"}};
        for (const auto &attribute : type.attributes) {
            using Kind = package::AttributeType::Kind;
            if (attribute.kind == Kind::pair) layer[attribute.name] = json::array({1, 1});
            else if (attribute.kind == Kind::branches)
                layer[attribute.name] =
                    json::array({{{"kind", "conv1d"}, {"kernel", 3}}, {{"kind", "identity"}}});
            else if (!attribute.fallback.empty()) layer[attribute.name] = json::parse(attribute.fallback);
            else if (attribute.required) layer[attribute.name] = 4;
        }
        if (type.name == "residual")
            layer["layers"] = json::array({{{"type", "relu"}, {"name", "b"}}}),
            layer["norm"] = {{"type", "rms_norm"}};
        if (type.two_inputs) layer["inputs"] = json::array({"x", "x"});
        const bool tokens = type.name == "embedding";
        json model = {{"format", "longwave-model"}, {"version", 1}, {"name", "seed"}};
        model["inputs"] = json::array({{{"name", "x"},
                                        {"kind", tokens ? "tokens" : "features"},
                                        {tokens ? "vocabulary" : "width", 4}}});
        model["layers"] = json::array({layer});
        model["outputs"] = json::array({{{"name", "y"}, {"from", "a"}}});
        put("package/layer_" + type.name, model.dump());
    }
}

// A small config.json of each architecture, and words of its table.
void configurations() {
    std::set<std::string> words = {"model_type", "architectures", "__float__",
                                   "Infinity",   "auto",          "swish",
                                   "rope_theta", "rope_scaling",  "partial_rotary_factor"};
    for (const huggingface::Architecture &of : huggingface::architectures()) {
        json config = tests::small_config(of.model_type);
        words.insert({of.model_type, of.made_by});
        for (const huggingface::Key &key : of.keys) words.insert({key.name, key.alias});
        for (const huggingface::KindRule &rule : of.kinds) {
            words.insert(rule.key);
            for (const auto &[name, kind] : rule.names) words.insert(name);
        }
        words.erase("");
        put("huggingface/" + of.model_type, config.dump());
        json &keys = of.within.empty() ? config : config[of.within];
        keys["vocab_size"] = 1 << 24;
        put("huggingface/large_" + of.model_type, config.dump());
        keys["more"] = "key";
        put("huggingface/unknown_key_" + of.model_type, config.dump());
    }
    put("huggingface/infinity",
        std::string(R"({"model_type": "mamba2", "time_step_limit": [0.0, Infinity]})"));
    std::string dictionary;
    for (const std::string &word : words) dictionary += "\"\\\"" + word + "\\\"\"\n";
    put("huggingface.dict", dictionary + "\"null\"\n\"true\"\n\"[\"\n\"]\"\n\"{\"\n\"}\"\n");
}

// safetensors without the eight bytes of header length, as package_fuzz.cc takes it.
std::string tensors(const std::vector<std::pair<std::string, std::vector<uint64_t>>> &shapes) {
    json header = json::object();
    uint64_t at = 0;
    for (const auto &[key, shape] : shapes) {
        uint64_t bytes = sizeof(float);
        for (const uint64_t extent : shape) bytes *= extent;
        header[key] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
        at += bytes;
    }
    return header.dump() + '\0' + std::string(at, '\x3c');
}

// Version 2: a graph that lowers, and one node of each op with as few inputs and the least
// attributes.
void graph_packages() {
    json model = {{"format", "longwave-model"}, {"version", 2}, {"name", "seed"}, {"length", 64}};
    model["inputs"] = json::array({{{"name", "x"}, {"kind", "features"}, {"width", 4}}});
    model["outputs"] = json::array({{{"name", "y"}, {"from", "a"}}});
    for (const ir::OpDef *op : ir::all_ops()) {
        json node = {
            {"name", "a"}, {"op", op->name}, {"inputs", {"x", {{"tensor", "w"}}, {{"tensor", "b"}}}}};
        for (const auto &attribute : op->attributes) {
            using Kind = ir::AttributeDef::Kind;
            if (attribute.kind == Kind::text) node["attributes"][attribute.name] = "mean";
            else if (attribute.kind == Kind::number) node["attributes"][attribute.name] = 0.5;
            else node["attributes"][attribute.name] = 1;
        }
        model["graph"] = json::array({node});
        put("package/node_" + std::string(op->name),
            model.dump() + '\0' + tensors({{"b", {4}}, {"w", {4, 4}}}));
    }
    model["graph"] = json::parse(R"([
        {"name": "m/linear", "op": "linear", "inputs": ["x", {"tensor": "w"}, {"tensor": "b"}], "attributes": {"bias": 1}},
        {"name": "m/long_conv", "op": "long_conv", "inputs": ["m/linear", {"tensor": "taps"}, {"tensor": "d"}],
         "attributes": {"channels": 1, "two_sided": 0}},
        {"name": "a", "op": "add", "inputs": ["x", "m/long_conv"]}])");
    put("package/graph",
        model.dump() + '\0' + tensors({{"b", {4}}, {"d", {1, 4}}, {"taps", {1, 4, 9}}, {"w", {4, 4}}}));
}

// The graphs that the compiler's tests are written in: raw strings that begin with a value or a
// graph's name.
void graphs() {
    for (const auto &entry : fs::recursive_directory_iterator("tests/unit/compiler")) {
        if (entry.path().extension() != ".cc") continue;
        const std::string source = text_of(entry.path());
        size_t n = 0;
        for (size_t at = 0; (at = source.find("R\"(", at)) != source.npos;) {
            const size_t begin = at + 3, end = source.find(")\"", begin);
            if (end == source.npos) break;
            const std::string text = source.substr(begin, end - begin);
            if (text.find("%0 = ") != text.npos)
                put("graph_text/" + entry.path().stem().string() + std::to_string(n++), text);
            at = end;
        }
    }
}

// ---- what the tools read ----

// A copy of one number, and a transposed one with the other sign and in float64.
void recipes() {
    fb::RecipeT recipe;
    recipe.golden_from = fb::GoldenFrom::reference;
    recipe.rounding = "float32";
    auto tensor = std::make_unique<fb::RecipeTensorT>();
    tensor->name = "w";
    tensor->shape = {2, 3};
    recipe.tensors.push_back(std::move(tensor));
    auto parameter = std::make_unique<fb::RecipeParameterT>();
    parameter->name = "layer weight";
    recipe.parameters.push_back(std::move(parameter));
    using Counts = std::array<uint32_t, 4>;
    using Steps = std::array<int32_t, 4>;
    const auto add = [&](const char *name, const fb::Copy &copy) {
        recipe.copies = {copy};
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(fb::Recipe::Pack(builder, &recipe), fb::RecipeIdentifier());
        put(std::string("recipe/") + name,
            std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()));
    };
    add("one", fb::Copy(0, 0, Counts{1, 1, 1, 1}, Steps{}, Steps{}, 0, fb::CopyElem::f32, false));
    add("turned", fb::Copy(2, 0, Counts{2, 1, 1, 1}, Steps{-1, 0, 0, 0}, Steps{1, 0, 0, 0}, 0,
                           fb::CopyElem::f64, true));
}

// Weights alone, and with their shape.
void packs() {
    const std::string weights = fuzz::pack_weights();
    const std::string alone = {static_cast<char>(weights.size()), '\0'};
    const std::vector<uint8_t> shape = fuzz::pack_shape();
    put("pack/weights", alone + weights);
    put("pack/with_shape", alone + weights + std::string(shape.begin(), shape.end()));
}

void tools_files() {
    for (const auto &[pick, draft] : {std::pair{'\0', test::gpu_model()},
                                      {'\1', test::mixed_model()},
                                      {'\2', test::gpu_stream_model()}}) {
        const std::vector<uint8_t> &segment = draft.segments.back().bytes;
        put(std::string("modules/") + draft.plan.name + std::to_string(pick),
            pick + std::string(segment.begin(), segment.end()));
    }
    recipes();
    packs();
    for (const char *name : {"tiny", "pair"})
        put(std::string("safetensors/") + name,
            text_of(fs::path("examples/packages") / name / "weights.safetensors"));
    const json costs = json::parse(text_of("schedules/long_conv/tables/costs.json"));
    const json structures = json::parse(text_of("schedules/long_conv/tables/x86-64-v3.json"));
    const json made = {{"processor", "p"}, {"target", "x86-64-v3"}, {"date", "2026-01-01"}};
    put("tuning/both",
        json{{"tuning", 1}, {"made", made}, {"costs", costs}, {"structures", {{"x86-64-v3", structures}}}}
            .dump());
    put("tuning/costs", json{{"tuning", 1}, {"made", made}, {"costs", costs}}.dump());
    put("tuning/gpu", json{{"tuning", 1},
                           {"gpu",
                            {{"device", "d"},
                             {"driver", 1},
                             {"date", "2026-01-01"},
                             {"bytes_per_ns", 400.5},
                             {"ns_per_dispatch", 5000},
                             {"busy_workgroups", 64}}}}
                          .dump());
    put("tuning/none", std::string("{\"tuning\":1}"));
    const json layers = json::array({{{"layer", "a"}, {"cpu_us", 1.5}, {"gpu_us", 2}},
                                     {{"layer", "b"}, {"cpu_us", 3}, {"gpu_us", nullptr}}});
    put("layer_times/two", json{{"layer_times", 1},
                                {"model", "model"},
                                {"device", "d"},
                                {"processor", "p"},
                                {"ticks", 64},
                                {"submission_us", 20},
                                {"byte_us", 0.001},
                                {"move_us", 2},
                                {"layers", layers}}
                               .dump());
    const auto line = [](std::string words) {
        std::replace(words.begin(), words.end(), ' ', '\0');
        return words;
    };
    for (const char *words :
         {"compile model -o a.lw --stream --target x86-64-v3,vulkan-16k --length 16,64 --blocks 1,64",
          "compile model -o a.lw --window 100 --hop 10 --weights int8 --sign key --json",
          "inspect a.lw --json", "verify a.lw --device vulkan", "run a.lw --input audio=16000 --threads 2",
          "listen a.lw demo.wav --block 64", "eval a.lw folder", "generate a.lw --prompt x --temperature 0.5",
          "score a.lw text", "bench a.lw --layers", "tune -o tuning.json", "tune --device vulkan",
          "devices --json", "manual --markdown", "--help", "compile --help", "--version"})
        put("command_line/" + std::to_string(std::hash<std::string>()(words) % 100000), line(words));
    const std::string signature =
        "{\"args\":[{\"name\":\"x\",\"kind\":\"input\",\"elem\":\"f32\",\"dims\":[[96,1],[4,96]]},"
        "{\"name\":\"n\",\"kind\":\"scalar\",\"elem\":\"i32\",\"dims\":[]}],\"scratch_bytes\":0}";
    const std::vector<uint8_t> entry =
        compiler::pack_entry({"spec", "x86-64-v3", "1"}, {signature, {1, 2, 3}});
    put("kernel_entry/whole", '\1' + std::string(entry.begin(), entry.end()));
    put("kernel_entry/signature", '\0' + signature);
    put("pipeline_cache/head", '\3' + std::string(48, '\0') + "pipelines");
    put("pipeline_cache/none", std::string(200, '\1'));
}

// ---- audio ----

void sounds() {
    const std::pair<const char *, int> formats[] = {
        {"u8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
        {"s16", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"s24", SF_FORMAT_WAV | SF_FORMAT_PCM_24},
        {"f32", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
        {"f64", SF_FORMAT_WAV | SF_FORMAT_DOUBLE},
        {"ex", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16},
        {"alaw", SF_FORMAT_WAV | SF_FORMAT_ALAW},
        {"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
        {"ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
        {"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS},
        {"mulaw", SF_FORMAT_WAV | SF_FORMAT_ULAW},
        {"adpcm", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM},
        {"rifx", SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG},
        {"w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
        {"rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
        {"au", SF_FORMAT_AU | SF_FORMAT_PCM_16},
        {"dns", SF_FORMAT_AU | SF_FORMAT_FLOAT | SF_ENDIAN_LITTLE},
        {"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
        {"nist", SF_FORMAT_NIST | SF_FORMAT_PCM_16},
        {"voc", SF_FORMAT_VOC | SF_FORMAT_PCM_16},
        {"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16}};
    const std::string tag("ID3\4\0\x10\0\0\0\5title3DI\4\0\x10\0\0\0\5", 25);
    const std::string frame = "\xff\xfb\x90\x64" + std::string(413, 'U');
    for (const char how : {char(0), char(1)}) {
        put("audio/mp3_" + std::to_string(int(how)), how + tag + frame + frame);
        put("audio/aac_" + std::to_string(int(how)), how + std::string("\xff\xf1\x50\x80\x02\x1f\xfc", 7) +
                                                         std::string(9, 1) + "\xff\xf1\x50\x80\x02\x1f\xfc");
        put("audio/text_" + std::to_string(int(how)), how + std::string("<!doctype html>"));
    }
    for (const auto &[name, format] : formats)
        for (const int channels : {1, 2}) {
            const fs::path path = root / "sound";
            SF_INFO info = {};
            info.samplerate = 16000;
            info.channels = channels;
            info.format = format;
            SNDFILE *file = sf_open(path.c_str(), SFM_WRITE, &info);
            if (!file) continue; // a libsndfile without this codec
            std::vector<float> samples(300);
            for (size_t i = 0; i < samples.size(); ++i)
                samples[i] = static_cast<float>(i % 17) / 20.0f - 0.4f;
            sf_write_float(file, samples.data(), static_cast<sf_count_t>(samples.size()));
            sf_close(file);
            const std::string bytes = text_of(path);
            fs::remove(path);
            for (const char how : {char(0), char(1), char(2), char(16)})
                put("audio/" + std::string(name) + std::to_string(channels) + "_" + std::to_string(int(how)),
                    how + bytes);
            put("audio/tagged_" + std::string(name) + std::to_string(channels), '\1' + tag + bytes);
            put("response/" + std::string(name) + std::to_string(channels), '\2' + bytes);
        }
}

// ---- dictionaries ----

void dictionaries() {
    std::set<std::string> words = {"longwave-model",
                                   "format",
                                   "version",
                                   "name",
                                   "inputs",
                                   "layers",
                                   "outputs",
                                   "labels",
                                   "decision",
                                   "kind",
                                   "audio",
                                   "features",
                                   "tokens",
                                   "sample_rate",
                                   "width",
                                   "vocabulary",
                                   "from",
                                   "input",
                                   "prefix",
                                   "keys",
                                   "norm",
                                   "dtype",
                                   "shape",
                                   "data_offsets",
                                   "F32",
                                   "F16",
                                   "BF16",
                                   "F64",
                                   "I64",
                                   "BOOL",
                                   "__metadata__",
                                   "threshold",
                                   "default",
                                   "ignore",
                                   "smoothing_ms",
                                   "min_count",
                                   "release",
                                   "refractory_ms"};
    for (const auto &type : package::layer_types()) {
        words.insert(type.name);
        for (const auto &attribute : type.attributes) words.insert(attribute.name);
    }
    words.insert({"graph", "length", "op", "inputs", "attributes", "tensor"});
    for (const ir::OpDef *op : ir::all_ops()) {
        words.insert(op->name);
        for (const auto &attribute : op->attributes) words.insert(attribute.name);
    }
    std::string package, graph;
    for (const auto &word : words) package += "\"\\\"" + word + "\\\"\"\n";
    put("package.dict",
        package + "\"\\\"type\\\":\"\n\"null\"\n\"true\"\n\"[\"\n\"]\"\n\"{\"\n\"}\"\n\"\\x00\"\n");
    for (const ir::OpDef *op : ir::all_ops()) {
        graph += "\" = " + std::string(op->name) + "(\"\n";
        for (const auto &attribute : op->attributes) graph += "\"" + std::string(attribute.name) + "=\"\n";
    }
    put("graph_text.dict", graph + "\"graph \\\"\"\n\"output \\\"\"\n\"certificate \\\"\"\n\" = input "
                                   "\\\"\"\n\" = const \\\"\"\n\" : f32[\"\n\" : "
                                   "i32[\"\n\"@1/1\"\n\"@0/1\"\n\" causal\"\n"
                                   "\" noncausal\"\n\" delay=\"\n\"; layer "
                                   "\"\n\"rate=\"\n\"vocabulary=\"\n\"audio\"\n\"tokens\"\n\"features\"\n");
    for (const char *target : {"audio.dict", "response.dict"})
        put(target,
            std::string(
                "\"RIFX\"\n\"RF64\"\n\"BW64\"\n\"ds64\"\n\"riff\"\n\"wave\"\n\".snd\"\n\"dns.\"\n\"caff\"\n"
                "\"FORM\"\n\"ID3\"\n\"3DI\"\n\"LIST\"\n"
                "\"RIFF\"\n\"WAVE\"\n\"fmt "
                "\"\n\"data\"\n\"fLaC\"\n\"OggS\"\n\"LIST\"\n\"fact\"\n\"\\xff\\xff\\xff\\xff\"\n"));
}

// Conversations with a longwave-runner: for `runner` messages, for `replies` what is asked and which
// replies lie.
void conversations() {
    const auto message = [](uint8_t what, uint8_t which, const std::vector<uint8_t> &payload) {
        std::vector<uint8_t> bytes = {what, which, static_cast<uint8_t>(payload.size()),
                                      static_cast<uint8_t>(payload.size() >> 8)};
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        return bytes;
    };
    for (uint8_t model = 0; model < 5; model++) {
        std::vector<uint8_t> talk = {static_cast<uint8_t>(model << 1)}, asked = {model};
        const uint8_t format = model == 2 ? 2 : 0; // token ids
        for (const auto &part :
             {message(2, 0, {}), message(4, 0, {0, 0, 0, 0, format, 0, 0, 0}),
              message(4, 0, {0, 0, 0, 0, format, 0, 0, 0}), message(0x45, 0, std::vector<uint8_t>(80)),
              message(9, 0, {}), message(0x48, 1, std::vector<uint8_t>(20)), message(11, 1, {0, 0, 0, 0}),
              message(6, 1, {}), message(7, 1, {}), message(12, 0, {})})
            talk.insert(talk.end(), part.begin(), part.end());
        put("runner/talk" + std::to_string(model), talk);
        for (uint8_t lie = 0; lie < 11; lie++) {
            std::vector<uint8_t> bytes = asked;
            for (const uint8_t kind : {0, 1, 2, 2, 9, 6, 5, 7, 8, 3, 4, 9}) {
                bytes.insert(bytes.end(), {0, kind, 40, 0, 7, 1});
                if (kind == 9) bytes.insert(bytes.end(), {lie, 1, 2, 3, 4, 5, 6, 7, 8, 9});
            }
            put("replies/lie" + std::to_string(model) + "_" + std::to_string(lie), bytes);
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    root = argv[1];
    artifacts();
    states();
    speech_states();
    audio_streams();
    for (const auto &[name, bytes] : fuzz::text_seeds()) put(name, bytes);
    for (const auto &[name, bytes] : fuzz::plugin_seeds()) put(name, bytes);
    packages();
    graph_packages();
    configurations();
    graphs();
    tools_files();
    sounds();
    conversations();
    dictionaries();
    return 0;
}
