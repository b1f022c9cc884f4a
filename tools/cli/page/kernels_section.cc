// Kernels with their size at each level of code, and their time there if it was measured.
#include "formats/artifact/modules_generated.h"
#include "tools/cli/model/description.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include "tools/cli/page/sections.h"
#include <algorithm>

namespace longwave::cli {
namespace {

struct Column {
    std::string title;
    std::vector<uint64_t> bytes; // by kernel; 0: it has none
};

Column modules_column(const artifact::ModulesView &modules, size_t kernels) {
    Column column{modules.manifest().target()->str(), std::vector<uint64_t>(kernels)};
    for (const auto *module : *modules.manifest().modules())
        if (module->kernel() < kernels) column.bytes[module->kernel()] = module->size();
    return column;
}

// Older compilers did not report the bytes of kernels.
std::vector<Column> columns_of(const ArtifactFile &file, const ReportValue &report) {
    const size_t kernels = file.plan().kernels()->size();
    std::vector<Column> columns;
    for (const ReportValue &target : report["targets"].list()) {
        Column column{target["name"].text(), {}};
        for (const ReportValue &bytes : target["kernel_bytes"].list()) column.bytes.push_back(bytes.count());
        if (column.bytes.empty()) continue;
        column.bytes.resize(kernels);
        columns.push_back(std::move(column));
    }
    if (const auto modules = file.modules())
        for (const artifact::ModulesView &view : *modules) columns.push_back(modules_column(view, kernels));
    return columns;
}

// What calls a kernel: entry and number of steps.
std::string calls(const fb::Plan &plan, uint32_t kernel) {
    std::string text;
    for (const auto *entry : *plan.entries()) {
        size_t steps = 0;
        for (const auto *step : *entry->steps())
            steps += step->kind() == fb::StepKind::call && step->kernel() == kernel;
        if (steps > 0)
            text += (text.empty() ? "" : "<br/>") + escaped(format("%zu × ", steps) + entry_name(*entry));
    }
    return text;
}

// Microseconds in a block of the default stream, or in the longest run without one: all steps of
// the kernel, each by how often it fires.
double time_of(const fb::Plan &plan, const StepTimes &times, const fb::Entry &shown, uint32_t kernel) {
    double sum = 0;
    for (uint32_t e = 0; e < plan.entries()->size(); e++) {
        if (plan.entries()->Get(e) != &shown) continue;
        for (uint32_t s = 0; s < shown.steps()->size(); s++) {
            const fb::Step &step = *shown.steps()->Get(s);
            if (step.kind() == fb::StepKind::call && step.kernel() == kernel)
                sum += times.us[e][s] / step.period();
        }
    }
    return sum;
}

} // namespace

std::string kernels_section(const PageInputs &in) {
    const fb::Plan &plan = in.file.plan();
    const uint32_t kernels = plan.kernels()->size();
    const std::vector<Column> columns = columns_of(in.file, ReportValue(in.report));
    const auto entries = shown_entries(plan);
    const bool timed = !in.times.empty() && !entries.empty();
    std::vector<std::string> headings{"kernel", "called by"};
    for (const Column &column : columns) headings.push_back(">" + column.title);
    std::vector<std::vector<double>> us; // by target, then kernel
    std::vector<double> most;
    for (size_t t = 0; timed && t < in.times.size(); t++) {
        headings.push_back("µs at " + in.times[t].target);
        us.emplace_back();
        for (uint32_t k = 0; k < kernels; k++) us[t].push_back(time_of(plan, in.times[t], *entries[0], k));
        most.push_back(std::max(1e-9, *std::max_element(us[t].begin(), us[t].end())));
    }
    std::vector<uint32_t> order(kernels);
    for (uint32_t k = 0; k < kernels; k++) order[k] = k;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        if (timed) return us.back()[a] > us.back()[b];
        return !columns.empty() && columns[0].bytes[a] > columns[0].bytes[b];
    });
    Table table(headings);
    std::vector<uint64_t> sums(columns.size());
    for (uint32_t i = 0; i < kernels; i++) {
        const uint32_t k = order[i];
        const KernelText text = kernel_text(plan, k);
        std::vector<std::string> cells{code(text.name), calls(plan, k)};
        // Every kernel has its name on the page. The rest of the last ones would make it too long.
        if (i < most_rows) cells[0] += "<br/><small>" + escaped(text.parameters.substr(0, 120)) + "</small>";
        for (size_t c = 0; c < columns.size(); c++) {
            sums[c] += columns[c].bytes[k];
            cells.push_back(columns[c].bytes[k] ? bytes_text(columns[c].bytes[k]) : "");
        }
        for (size_t t = 0; t < us.size(); t++)
            cells.push_back(us[t][k] > 0 ? cell_bar(us[t][k] / most[t], format("%.2f", us[t][k])) : "");
        table.row(cells);
    }
    std::vector<std::string> cells{"all", ""};
    for (const uint64_t sum : sums) cells.push_back(bytes_text(sum));
    for (const auto &target : us) {
        double sum = 0;
        for (const double value : target) sum += value;
        cells.push_back(format("%.1f", sum));
    }
    table.row(cells);
    std::string out;
    if (timed)
        out = "<p>" +
              escaped("Times: medians in " + entry_name(*entries[0]) +
                      ", measured on this machine with one thread, each step alone. Each step counts by how "
                      "often it runs.") +
              "</p>\n";
    return out + table.html();
}

} // namespace longwave::cli
