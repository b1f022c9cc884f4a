#include "schedules/halide/llvm_assembly.h"
#include <regex>
#include <sstream>

namespace longwave::schedules {

std::string without_machine(const std::string &assembly) {
    static const std::regex machine(R"re("(target-cpu|target-features|tune-cpu)"="[^"]*" ?)re");
    static const std::regex promises(R"( captures\([^)]*\)| initializes\(\([^)]*\)\)|\bsamesign )");
    static const std::regex conversion(
        R"(\b(fptrunc|fpext) ((nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )+)");
    std::istringstream lines(assembly);
    std::string out, line;
    while (std::getline(lines, line)) {
        if (line.starts_with("target triple")) continue;
        if (line.starts_with("attributes #")) line = std::regex_replace(line, machine, "");
        line = std::regex_replace(line, promises, "");
        out += std::regex_replace(line, conversion, "$1 ") + '\n';
    }
    return out;
}

} // namespace longwave::schedules
