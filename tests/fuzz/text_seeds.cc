#include "tests/fuzz/text_seeds.h"
#include "longwave/generator.h"
#include "tests/fuzz/must.h"
#include "tests/support/tiny_text.h"
#include <fstream>
#include <iterator>

namespace longwave::fuzz {
namespace {

std::string state_of(const lw_generator *generator) {
    size_t n = 0;
    must(lw_generator_save(generator, nullptr, 0, &n) == LW_OK, "the size of a state");
    std::string state(1 + n, '\1');
    must(lw_generator_save(generator, state.data() + 1, n, &n) == LW_OK, "a state is saved");
    return state;
}

// The file split.json with other expressions, for what the translation of expressions knows.
void add_expressions(std::map<std::string, std::string> &seeds) {
    const std::string split = seeds["tokenizer/split"], key = R"("Regex": ")";
    const size_t start = split.find(key) + key.size(), end = split.find(R"("})", start);
    must(start > key.size() && end != split.npos, "split.json has an expression");
    const char *const expressions[] = {
        R"([\\p{Lu}\\p{M}&&[^\\p{Han}]]*[[:alpha:]&&\\w]+(?i:'s|'[dm])?)",
        R"((?<=\\d|[a-f-])\\h{1,3}+|(?<!a)\\H{3,1}|\\S++$|^\\R?)",
        R"((?x) a # b\n|(?m:.)|(?>\\O\\N)|(?!\\b)\\B\\Z|\\x{41}\\u0042)",
    };
    for (size_t i = 0; i < std::size(expressions); i++)
        seeds["tokenizer/expression" + std::to_string(i)] =
            split.substr(0, start) + expressions[i] + split.substr(end);
}

} // namespace

std::map<std::string, std::string> text_seeds() {
    std::map<std::string, std::string> seeds;
    const std::vector<uint8_t> bytes = test::bigram_model(test::alphabet()).bytes();
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    lw_generator_options recent{};
    recent.struct_size = sizeof recent;
    recent.recent = 10;
    lw_model *model = nullptr;
    lw_stream *stream = nullptr;
    lw_generator *generator = nullptr;
    must(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK, "the test model opens");
    must(lw_stream_create(model, nullptr, &stream) == LW_OK, "and streams");
    must(lw_generator_create(stream, &recent, &generator) == LW_OK, "and writes");
    seeds["generator_state/empty"] = state_of(generator);
    const int32_t ids[] = {'x', 'y', 'z'};
    must(lw_generator_prompt(generator, ids, 3) == LW_OK, "a prompt is read");
    seeds["generator_state/prompt"] = state_of(generator);
    lw_generator_token token{};
    token.struct_size = sizeof token;
    for (int i = 0; i < 7; ++i) must(lw_generator_next(generator, &token) == LW_OK, "ids follow");
    seeds["generator_state/written"] = state_of(generator);
    lw_generator_destroy(generator);
    lw_stream_destroy(stream);
    lw_model_close(model);
    for (const std::string name : {"byte_level", "split", "prefix_space"}) {
        std::ifstream file("tests/unit/runtime/tokenizer/tokenizers/" + name + ".json", std::ios::binary);
        std::string &seed = seeds["tokenizer/" + name];
        seed.assign(std::istreambuf_iterator<char>(file), {});
        seed += '\0';
        seed += "we'll  12 \xff\xe2\x82 <|end|>\r\n plain";
    }
    add_expressions(seeds);
    return seeds;
}

} // namespace longwave::fuzz
