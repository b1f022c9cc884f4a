// Exceptions of schedules and of Halide as one line of text.
#pragma once
#include "schedules/halide/params.h"
#include <Halide.h>

namespace longwave::schedules {

// Runs `work`. Returns an empty text, or what it threw, as one line.
template <class Work> std::string fault_of(const Work &work) {
    const auto line = [](const std::string &kind, std::string text) {
        for (char &c : text)
            if (c == '\n') c = ' ';
        return kind + text;
    };
    try {
        work();
        return {};
    } catch (const SpecError &e) {
        return line("", e.what());
    } catch (const nlohmann::json::exception &e) {
        return line("specification: ", e.what());
    } catch (const Halide::Error &e) { // not a std::exception
        return line("Halide: ", e.what());
    } catch (const std::exception &e) {
        return line("", e.what());
    }
}

} // namespace longwave::schedules
