// Turns a numerical oracle (NAME.json and NAME.safetensors of shared/oracles) into a model package
// with its inputs and expected outputs. Everything follows from the configuration and the tensors,
// nothing from the name of the case. Operators: sgconv.gconv, sgconv.model, stream.sgconv,
// stream.sgconv_conv; others are refused with a message.
#pragma once
#include "formats/package/package.h"
#include <optional>

namespace longwave::oracles {

// [rows][width]; token ids are whole numbers in one column.
struct Rows {
    std::string name; // of the input or output
    size_t rows = 0, width = 0;
    std::vector<float> data;
};

struct Expectation {
    Rows output;
    double peak = 0;      // of the whole reference tensor, all runs: errors are relative to it
    bool running = false; // row t is the answer after positions 0 … t: a stream gives all rows, a whole
                          // sequence only the last
    bool leading = false; // the first rows of an output that has more; otherwise the last ones
};

// One sequence of the batch (for pairs of documents: one pair).
struct Run {
    std::vector<Rows> inputs;
    std::vector<size_t> lengths; // for each input; what lies behind still enters convolutions, only pooling
                                 // stops there (the official padded form)
    std::vector<Expectation> outputs;
};

struct Case {
    std::string name, operation;
    nlohmann::json config;  // as in the fixture
    std::string model_json; // for package::parse, with `weights`
    std::map<std::string, package::Tensor> weights;
    std::vector<Run> runs;
    std::map<std::string, package::Tensor> references; // all ref.* tensors, without "ref."
    size_t positions = 0;                              // of every sequence
    bool causal = true;                                // and every head has an answer in a stream
    double limit = 0; // for a float32 engine, relative to the peak (docs/testing.md)
};

// Fault::input: a file that cannot be read, a tensor that is missing, an operator or option that
// has no layer.
Expected<Case> make_case(const std::string &description_json, std::map<std::string, package::Tensor> tensors);
Expected<Case> read_case(const std::string &json_path);

// Paths of the JSON files in `folder` whose names start with one of the prefixes, sorted.
std::vector<std::string> list_cases(const std::string &folder, const std::vector<std::string> &prefixes);

// The folder of reference tensors: $LONGWAVE_ORACLES, or those of the repository, which is the
// current folder.
std::string oracle_folder();

} // namespace longwave::oracles
