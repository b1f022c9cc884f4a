// The memory plan over time: each buffer of the working memory from the step that writes it to the
// last step that reads it. Found from what the steps touch, as the file states it.
#include "tools/cli/output/text.h"
#include "tools/cli/page/lifetimes.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>

namespace longwave::cli {
namespace {

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

} // namespace longwave::cli
