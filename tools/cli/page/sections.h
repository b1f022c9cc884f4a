// The sections of the page of a compiled model. Each returns markup.
#pragma once
#include "tools/cli/output/report_value.h"
#include "tools/cli/page/model_page.h"

namespace longwave::cli {

// Longest lists on the page, so that it stays below 500 kB.
inline constexpr size_t most_rows = 200, most_rectangles = 900;

// "run 16000", "stream 320 on a GPU"
std::string entry_name(const fb::Entry &entry);
// What the report says of an entry; missing in a report that does not name it.
ReportValue report_of(const ReportValue &report, const fb::Entry &entry);
// Entries that a reader looks for first: the default stream, then the longest run, on the CPU.
std::vector<const fb::Entry *> shown_entries(const fb::Plan &plan);
// "and 12 more" as a paragraph; empty for 0.
std::string more(size_t left_out);

std::string graph_section(const ReportValue &report);
std::string layers_section(const ReportValue &report);
std::string memory_section(const fb::Plan &plan);
std::string kernels_section(const PageInputs &in);
std::string state_section(const fb::Plan &plan);
std::string proof_section(const ReportValue &report, const ReportValue &certificates, const fb::Plan &plan);
std::string file_section(const ArtifactFile &file, const std::string &signature);

} // namespace longwave::cli
