// A trace of a run: which step ran when, as a file for Perfetto or chrome://tracing (Trace Event
// Format, JSON).
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include <memory>
#include <string>
#include <vector>

namespace longwave::cli {

// Collects events in memory. Spans of one thread nest: a call of the program, the blocks in it, the
// steps of a block. After `most` events it counts and drops the rest.
class Trace {
public:
    static constexpr size_t most = 400'000; // events: about 60 MB of JSON

    // Reads the model's plan for the names of steps and kernels. `model` gets the device that tells
    // their times. Fault::usage: it names another device than the CPU, whose steps only are timed.
    static Expected<std::shared_ptr<Trace>> create(ModelFlags &model);
    ~Trace();
    Trace(const Trace &) = delete;
    Trace &operator=(const Trace &) = delete;

    static uint64_t clock_ns(); // the clock of the steps
    void call(const char *name, uint64_t begin_ns, uint64_t end_ns, uint64_t ticks);
    void keyword(const std::string &word, double score, double seconds);
    void scores(const std::vector<std::string> &labels, const std::vector<float> &values);

    // Writes the file and says on stderr how many events it has.
    Status write(const std::string &path) const;
    std::string json() const;

private:
    struct Event;
    explicit Trace(ArtifactFile file);
    bool room();

    ArtifactFile file_;
    std::shared_ptr<lw_device> device_;
    std::vector<Event> events_;
    size_t dropped_ = 0;
};

void add_trace_flag(CommandLine &app, std::string &path);

} // namespace longwave::cli
