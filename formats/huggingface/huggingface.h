// Reads a folder that `save_pretrained` of transformers wrote, as the package that formats/package makes of a
// model folder (docs/huggingface.md).
#pragma once
#include "formats/package/package.h"

namespace longwave::huggingface {

// Does the folder have a config.json and no model.json?
bool is_folder(const std::string &path);

struct Options {
    uint32_t context = 0; // tokens that attention sees at most; 0: as many as the model says
    bool stream = false;  // must a stream be possible?
};

struct Model {
    package::Package package;
    std::vector<std::string> notes; // what people should know
};

// Reads config.json and the safetensors files; the other files say nothing about the numbers.
// Fault::input lists every problem of config.json, or else every problem of the tensors.
Expected<Model> read(const std::string &folder, const Options &options = {});

} // namespace longwave::huggingface
