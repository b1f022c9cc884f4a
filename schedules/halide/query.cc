#include "schedules/halide/query.h"
#include "schedules/halide/fault.h"
#include "schedules/halide/kernel.h"
#include "schedules/halide/versions.h"
#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace longwave::schedules {

namespace {

std::string answer(const nlohmann::json &request, const nlohmann::json &structures) {
    nlohmann::json result;
    const std::string reason = fault_of([&] {
        const BuiltKernel kernel = build_kernel(request.at("spec"), request.at("target"), structures);
        result = {{"supported", true},
                  {"version", version_of(*kernel.schedule)},
                  {"signature", nlohmann::json::parse(kernel.signature(0))}};
    });
    if (!reason.empty()) result = {{"supported", false}, {"reason", reason}};
    return result.dump();
}

[[noreturn]] void write_and_exit(int pipe, const std::string &text) {
    size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = write(pipe, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) _exit(1);
        if (n > 0) done += static_cast<size_t>(n);
    }
    _exit(0);
}

std::string read_all(int pipe) {
    std::string text;
    char part[4096];
    for (;;) {
        const ssize_t n = read(pipe, part, sizeof part);
        if (n == 0 || (n < 0 && errno != EINTR)) return text;
        if (n > 0) text.append(part, static_cast<size_t>(n));
    }
}

std::string in_child(const nlohmann::json &request, const nlohmann::json &structures) {
    int ends[2];
    if (pipe(ends) != 0) throw SpecError(std::string("cannot open a pipe: ") + std::strerror(errno));
    const pid_t child = fork();
    if (child == 0) write_and_exit(ends[1], answer(request, structures));
    close(ends[1]);
    const std::string text = child > 0 ? read_all(ends[0]) : "";
    close(ends[0]);
    if (child < 0) throw SpecError(std::string("cannot start a process: ") + std::strerror(errno));
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        throw SpecError("the query of " + request.at("spec").dump() + " crashed");
    return text;
}

} // namespace

nlohmann::json answer_queries(const nlohmann::json &requests, const nlohmann::json &structures) {
    if (!requests.is_array()) throw SpecError("a query is an array of requests");
    nlohmann::json answers = nlohmann::json::array();
    for (const nlohmann::json &request : requests) {
        if (!request.is_object() || !request.contains("spec") || !request.contains("target") ||
            !request.at("target").is_string())
            throw SpecError("a request is an object with 'spec' and a text 'target'");
        answers.push_back(nlohmann::json::parse(in_child(request, structures)));
    }
    return answers;
}

} // namespace longwave::schedules
