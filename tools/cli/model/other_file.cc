#include "tools/cli/model/other_file.h"
#include <array>
#include <cctype>
#include <fstream>

namespace longwave::cli {

namespace {

constexpr size_t looked_at = 4096;

struct Kind {
    std::string_view name, to_do;
};

namespace kinds { // apart, because a local variable may have such a name
constexpr Kind recording = {"a recording", "name the model first, and then the recording"};
constexpr Kind onnx = {"an ONNX graph", "import it first: longwave import FILE -o model.lw"};
constexpr Kind capture = {"a capture of Neural Amp Modeler",
                          "import it first: longwave import FILE -o model.lw"};
constexpr Kind weights = {"a file of weights without the graph that computes",
                          "import the module: longwave import MODULE:FUNCTION --checkpoint FILE "
                          "--input audio=16000 -o model.lw"};
constexpr Kind gguf = {"a GGUF file of a language model", "run it with llama.cpp; docs/compare.md says more"};
constexpr Kind flatbuffer = {"a TensorFlow Lite graph", "export the model as ONNX: docs/onnx.md"};
constexpr Kind array = {"a NumPy array", "name the model first, and give the array as --input NAME=@FILE"};
constexpr Kind archive = {"a compressed file", "unpack it first"};
constexpr Kind pointer = {"a Git LFS pointer, not the file itself", "fetch the file: git lfs pull"};
constexpr Kind program = {"a program", "name a file that longwave compile or longwave import made"};
constexpr Kind json = {"a JSON text", "compile its folder, if it is a model.json: longwave compile FOLDER"};
} // namespace kinds

struct Beginning {
    std::string_view bytes;
    Kind kind;
};

using namespace std::string_view_literals;

constexpr std::array beginnings = {
    Beginning{"fLaC"sv, kinds::recording},
    Beginning{"OggS"sv, kinds::recording},
    Beginning{".snd"sv, kinds::recording},
    Beginning{"ID3"sv, kinds::recording},
    Beginning{"GGUF"sv, kinds::gguf},
    Beginning{"\x93NUMPY"sv, kinds::array},
    Beginning{"PK\3\4"sv, kinds::weights}, // torch.save, since version 1.6, and TorchScript
    Beginning{"\x80\2"sv, kinds::weights}, // a pickle, as torch.save wrote it before
    Beginning{"\x89HDF"sv, kinds::weights},
    Beginning{"\x1f\x8b"sv, kinds::archive},
    Beginning{"\xfd"
              "7zXZ"sv,
              kinds::archive},
    Beginning{"\x28\xb5\x2f\xfd"sv, kinds::archive},
    Beginning{"version https://git-lfs"sv, kinds::pointer},
    Beginning{"\x7f"
              "ELF"sv,
              kinds::program},
    Beginning{"MZ"sv, kinds::program},
};

// Chunks with a kind of their own behind the length.
bool is_chunked_audio(std::string_view b) {
    const std::string_view outer = b.substr(0, 4), inner = b.size() >= 12 ? b.substr(8, 4) : "";
    return ((outer == "RIFF" || outer == "RF64") && inner == "WAVE") ||
           (outer == "FORM" && (inner == "AIFF" || inner == "AIFC"));
}

// The length of a JSON header in 8 bytes, and then the header.
bool is_safetensors(std::string_view b) {
    return b.size() > 8 && b[8] == '{' && b.substr(5, 3) == "\0\0\0"sv;
}

// Protobuf has no magic. A ModelProto begins with its ir_version (field 1, a small number), and a
// field with a text, a message or a number follows.
bool is_onnx(std::string_view b) {
    return b.size() > 2 && b[0] == 0x08 && b[1] >= 1 && b[1] <= 32 &&
           "\x12\x1a\x22\x28\x32\x3a\x42\x72"sv.find(b[2]) != std::string_view::npos;
}

const Kind *kind_of(std::string_view b) {
    for (const Beginning &known : beginnings)
        if (b.starts_with(known.bytes)) return &known.kind;
    if (is_chunked_audio(b)) return &kinds::recording;
    if (b.size() >= 8 && b.substr(4, 4) == "TFL3") return &kinds::flatbuffer;
    if (is_safetensors(b)) return &kinds::weights;
    if (is_onnx(b)) return &kinds::onnx;
    size_t text = 0;
    while (text < b.size() && std::isspace(static_cast<unsigned char>(b[text]))) text++;
    if (!b.substr(text).starts_with('{')) return nullptr;
    return b.find("\"architecture\"") != std::string_view::npos ? &kinds::capture : &kinds::json;
}

} // namespace

Status refuse_other_file(const std::string &path, std::string_view first_bytes) {
    const Kind *kind = kind_of(first_bytes);
    if (!kind) return {};
    std::string to_do(kind->to_do);
    if (const size_t at = to_do.find("FILE"); at != std::string::npos) to_do.replace(at, 4, path);
    return Status::input(path + ": is " + std::string(kind->name) + ", not a compiled model (.lw); " + to_do);
}

Status refuse_other_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(looked_at, '\0');
    file.read(bytes.data(), std::streamsize{looked_at});
    bytes.resize(static_cast<size_t>(file.gcount()));
    return refuse_other_file(path, bytes);
}

} // namespace longwave::cli
