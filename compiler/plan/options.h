// What a caller of compile() may ask for (driver/compile.h). Every later step of a compile reads
// it.
#pragma once
#include "compiler/devices/traits.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

namespace longwave::compiler {

enum class StreamMode {
    if_possible, // stream when every layer can; else the report says which cannot
    required,    // a layer that looks ahead is an error that names it
    none         // whole sequences only
};

// The name of the one field of state that a windowed stream has: its input. No other field is
// called so.
inline constexpr char window_field[] = "window";

// The layers of offline runs that the CPU computes in the entries of a device (--place). Streams
// run on one device.
struct Placement {
    std::set<std::string> cpu_layers; // by name
    bool automatic = false;           // also every layer that the device cannot compute
    // Text and name of a file of `longwave bench --layers` (placement/layer_times.h). The compiler
    // then places layers so that a run takes least time; `automatic` counts as set. Empty: no file.
    std::string times, times_name;
};

struct Options {
    // CPU targets ("x86-64-v3"), none: all of targets/ for this host's architecture. And at most
    // one device ("vulkan-32k"). Its offline runs, or its streams, are left out when a layer does
    // not run on it; the report lists these layers. Fault::input when both are left out.
    std::vector<std::string> targets;
    const std::vector<devices::Traits> *devices = &devices::all(); // those that `targets` may name
    Placement place;
    StreamMode stream = StreamMode::if_possible;
    std::vector<uint32_t> blocks; // input ticks a stream call, one stream entry each, the first the default;
                                  // empty: the least common multiple of the hops
    // Streams that kernels of CPUs compute at once, ascending; empty: one (lw_batch). Not with `window`.
    std::vector<uint32_t> streams;
    // Instead of those, and for models that look ahead: the offline model over the last `window`
    // input ticks, every `hop` ticks (plan/windowed_stream.h). Offline runs are as long. 0: no.
    uint32_t window = 0, hop = 0;
    uint32_t length = 0; // capacity of whole sequences in input ticks; 0: one second of audio, the longest
                         // l_max, or the longest look-back and two blocks; none: see `offline`
    // Capacities of further run entries: a sequence goes through the one of least capacity that
    // takes it. For layers that take one length alone, and where short sequences should not pay for
    // long ones.
    std::vector<uint32_t> further_lengths;
    bool offline = true; // also compile the run entries
    std::string kgen;    // path of longwave-kgen
    std::string cache;   // kernel cache folder; empty: the user's cache folder
    // Most memory that the compile and a check behind it may take, as far as the plans tell; 0: any.
    uint64_t memory = 0;
    bool checks = false; // the caller runs every stream of the artifact afterwards
    unsigned jobs = 0;   // processes and threads at a time; 0: number of CPUs
    std::string weights =
        "float32"; // of products: float32, bf16, int8 or int4 (schedules/contract/weight_formats.h)
    // What kernels of a CPU round the input rows of products with int8 or int4 weights to: int16 or
    // int8.
    std::string activations = "int16";
    // What kernels of a GPU hand to each other in whole runs: f32, or f16 where they can
    // (plan/fp16_storage.h)
    std::string gpu_storage = "f32";
    // Steps of a stream on a GPU that touch at most so many bytes share dispatches; 0: none does
    // (codegen/chains.h).
    uint64_t gpu_chained_bytes = 256u << 10;
    // Most variants of a kernel for a GPU in the file, from which a device takes the fastest (docs/gpu.md).
    uint32_t gpu_variants = 4;
    // Other weights may take the place of these: the file says where each number goes
    // (compiler/artifact/recipe.h).
    bool packable = false;
    // Leaves out the passes that mix numbers of several tensors. compile() sets it (driver/packable.h).
    bool unmixed = false;
    // force one algorithm by name where its op has several; empty: the planner chooses
    std::string convolution;
    std::string tuning, tuning_name; // text and name of a tuning file (tuning.h); empty: the shipped tables
    std::string dump_after;          // pass name: print the graph after it to `dump`
    std::ostream *dump = nullptr;
    bool timings = false; // print the time of every step to `dump`
    std::function<void(size_t done, size_t total, const std::string &what)> progress; // may be empty
};

} // namespace longwave::compiler
