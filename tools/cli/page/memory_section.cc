// The memory plan over time: each buffer of the working memory from the step that writes it to the
// last step that reads it. Found from what the steps touch, as the file states it.
#include "formats/artifact/geometry.h"
#include "formats/artifact/schema.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace longwave::cli {
namespace {

// Buffers of an entry's working memory, and the steps between which each is in use.

struct Lifetime {
    uint64_t begin = 0, end = 0;  // bytes of the arena
    uint32_t first = 0, last = 0; // steps; the number of steps: until the end of the block
    std::string name;             // of the step that writes it, or of the input
};

class Arena {
public:
    // `fresh`: the step writes the bytes and does not read them.
    void touch(uint32_t step, uint64_t begin, uint64_t end, bool fresh, const std::string &name) {
        if (begin >= end) return;
        Open *joined = nullptr;
        for (Open &open : open_) {
            Lifetime &b = list_[open.index];
            if (!(b.begin < end && begin < b.end)) continue;
            if (fresh && (open.read || joined)) { // other bytes from now on
                open.closed = true;
                continue;
            }
            b.last = std::max(b.last, step);
            if (!fresh) open.read = true;
            joined = &open;
            if (fresh) b.begin = std::min(b.begin, begin), b.end = std::max(b.end, end);
        }
        std::erase_if(open_, [](const Open &open) { return open.closed; });
        if (fresh && !joined) {
            open_.push_back({list_.size()});
            list_.push_back({begin, end, step, step, name});
        }
    }
    std::vector<Lifetime> take() { return std::move(list_); }

private:
    struct Open {
        size_t index;
        bool read = false, closed = false;
    };
    std::vector<Lifetime> list_;
    std::vector<Open> open_; // what a later step may read
};

// The bytes of all slots and tiles.
bool span(const fb::Place &place, uint32_t tiles, uint64_t bytes, uint64_t *end) {
    return place.space() == fb::Space::arena && artifact::place_end(place, tiles, bytes, end);
}

void touch_call(const fb::Plan &plan, const fb::Step &step, uint32_t at, const std::string &name,
                Arena &memory) {
    const auto &args = *plan.kernels()->Get(step.kernel())->args();
    for (const bool fresh : {false, true}) // a step reads before it writes
        for (uint32_t a = 0; a < artifact::count(step.args()); ++a) {
            const fb::Place *place = step.args()->Get(a)->place();
            const fb::KernelArg &arg = *args.Get(a);
            uint64_t bytes = 0, end = 0;
            if (!place || fresh != (arg.kind() == fb::ArgKind::output)) continue;
            if (artifact::span_bytes(arg, &bytes) && span(*place, step.tiles(), bytes, &end))
                memory.touch(at, place->offset(), end, fresh, name);
        }
}

// In the order of the writing steps. Several steps that write before any step reads, as for parts
// of one tensor, make one buffer. The plan must be verified.
std::vector<Lifetime> lifetimes(const fb::Plan &plan, const fb::Entry &entry) {
    Arena memory;
    const auto port = [&](uint32_t step, const fb::Place *place, uint32_t rows, uint32_t row_bytes,
                          bool fresh, const std::string &name) {
        uint64_t end = 0;
        if (place && span(*place, 1, uint64_t{rows} * row_bytes, &end))
            memory.touch(step, place->offset(), end, fresh, name);
    };
    if (entry.inputs())
        for (const auto *input : *entry.inputs())
            port(0, input->place(), input->rows(), input->row_bytes(), true,
                 "input " + plan.inputs()->Get(input->input())->name()->str());
    const uint32_t steps = entry.steps()->size();
    for (uint32_t i = 0; i < steps; ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        const std::string name = step.name() ? step.name()->str() : "step " + std::to_string(i);
        if (step.kind() == fb::StepKind::call) {
            touch_call(plan, step, i, name, memory);
        } else if (step.args() && step.args()->size() > 0) {
            const uint64_t bytes = step.kind() == fb::StepKind::zero_tail
                                       ? uint64_t{step.rows()} * step.row_bytes()
                                       : step.bytes();
            const fb::Place *place = step.args()->Get(0)->place();
            uint64_t end = 0;
            if (place && span(*place, step.tiles(), bytes, &end))
                memory.touch(i, place->offset(), end, step.kind() == fb::StepKind::zero, name);
        }
    }
    if (entry.outputs())
        for (const auto *output : *entry.outputs())
            port(steps, output->place(), output->rows(), output->row_bytes(), false, "");
    return memory.take();
}

std::string words_of(const Lifetime &buffer, const fb::Entry &entry) {
    std::string text = buffer.name + ": " + bytes_text(buffer.end - buffer.begin) + " at " +
                       std::to_string(buffer.begin) + ", ";
    const uint32_t steps = entry.steps()->size();
    if (buffer.first == buffer.last) return text + format("step %u", buffer.first);
    if (buffer.last >= steps) return text + format("from step %u to the end", buffer.first);
    return text + format("steps %u to %u", buffer.first, buffer.last);
}

std::string drawn(const fb::Entry &entry, const std::vector<Lifetime> &buffers) {
    const double steps = std::max<uint32_t>(1, entry.steps()->size());
    const double bytes = static_cast<double>(std::max<uint64_t>(1, entry.arena_bytes()));
    std::string out =
        "<div class=\"plan\"><svg viewBox=\"0 0 1000 260\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"Buffers over steps and addresses\">\n";
    for (size_t i = 0; i < buffers.size(); i++) {
        const Lifetime &b = buffers[i];
        const double x = 1000 * b.first / steps, width = 1000 * (b.last - b.first + 1) / steps;
        const double y = 260 * static_cast<double>(b.begin) / bytes,
                     height = 260 * static_cast<double>(b.end - b.begin) / bytes;
        out += "<rect class=\"" + colour(i) + "\" x=\"" + css_number(x) + "\" y=\"" + css_number(y) +
               "\" width=\"" + css_number(std::min(width, 1000 - x)) + "\" height=\"" +
               css_number(std::max(height, 0.6)) + "\"><title>" + escaped(words_of(b, entry)) +
               "</title></rect>\n";
    }
    return out + "</svg></div>\n<div class=\"axis\"><span>step 0</span><span>addresses 0 to " +
           escaped(bytes_text(entry.arena_bytes())) + ", downwards</span><span>step " +
           std::to_string(entry.steps()->size()) + "</span></div>\n";
}

std::string largest(const fb::Entry &entry, std::vector<Lifetime> buffers) {
    std::stable_sort(buffers.begin(), buffers.end(),
                     [](const Lifetime &a, const Lifetime &b) { return a.end - a.begin > b.end - b.begin; });
    Table table({"written by", ">bytes", ">address", ">first step", ">last step"});
    for (size_t i = 0; i < std::min<size_t>(buffers.size(), 20); i++)
        table.row({code(buffers[i].name), std::to_string(buffers[i].end - buffers[i].begin),
                   std::to_string(buffers[i].begin), std::to_string(buffers[i].first),
                   buffers[i].last >= entry.steps()->size() ? "end" : std::to_string(buffers[i].last)});
    return details("The largest buffers", table.html());
}

} // namespace

std::string memory_section(const fb::Plan &plan) {
    std::string out;
    for (const fb::Entry *entry : shown_entries(plan)) {
        std::vector<Lifetime> buffers = lifetimes(plan, *entry);
        uint64_t sum = 0;
        for (const Lifetime &b : buffers) sum += b.end - b.begin;
        if (buffers.empty() || entry->arena_bytes() == 0) continue;
        out += "<h3>" + escaped(entry_name(*entry)) + "</h3>\n<p>" +
               escaped(format("%zu buffers of %s in all share %s", buffers.size(), bytes_text(sum).c_str(),
                              bytes_text(entry->arena_bytes()).c_str())) +
               ".</p>\n";
        const std::string table = largest(*entry, buffers);
        if (buffers.size() > most_rectangles) {
            std::nth_element(
                buffers.begin(), buffers.begin() + most_rectangles, buffers.end(),
                [](const Lifetime &a, const Lifetime &b) { return a.end - a.begin > b.end - b.begin; });
            out += "<p>Only the " + std::to_string(most_rectangles) + " largest are drawn.</p>\n";
            buffers.resize(most_rectangles);
        }
        out += drawn(*entry, buffers) + table;
    }
    return out.empty() ? "<p>No entry has working memory.</p>\n" : out;
}

// The map of the stream state: what a stream remembers between two blocks, as it lies in memory.

namespace {

const char *words_of(fb::StateKind kind) {
    return kind == fb::StateKind::history ? "older rows"
           : kind == fb::StateKind::carry ? "carried values"
                                          : "spectra";
}

std::string shape_of(const fb::StateField &field) {
    std::string text;
    for (const uint32_t extent : *field.dims()) text += (text.empty() ? "" : " × ") + std::to_string(extent);
    return text + " " + name_of(artifact::elem_of(field.elem()));
}

} // namespace

std::string state_section(const fb::Plan &plan) {
    if (!plan.state() || plan.state()->size() == 0)
        return "<p>The model has no stream, so it has no state.</p>\n";
    std::vector<BarPart> parts;
    std::map<std::string, size_t> colours; // by layer
    Table table({"layer", "field", "holds", "shape", ">bytes", ">offset"});
    const uint32_t fields = plan.state()->size();
    for (uint32_t i = 0; i < std::min<uint32_t>(fields, most_rows); i++) {
        const fb::StateField &field = *plan.state()->Get(i);
        uint64_t bytes = 0;
        if (!artifact::field_bytes(field, &bytes)) continue; // the rules exclude it
        const std::string layer = field.layer()->str(), name = field.name()->str();
        const size_t number = colours.try_emplace(layer, colours.size()).first->second;
        parts.push_back({static_cast<double>(bytes), colour(number),
                         layer + " " + name + ", " + words_of(field.kind()) + ", " + bytes_text(bytes)});
        table.row({code(layer), code(name), words_of(field.kind()), escaped(shape_of(field)),
                   std::to_string(bytes), std::to_string(field.offset())});
    }
    return stacked_bar(parts) +
           "<div class=\"axis\"><span>byte 0</span><span>one color per layer</span><span>" +
           escaped(bytes_text(plan.state_bytes())) + "</span></div>\n" + table.html() +
           more(fields > most_rows ? fields - most_rows : 0);
}

} // namespace longwave::cli
