#include "schedules/halide/registry.h"
#include <cstdio>
#include <cstdlib>
#include <map>

namespace longwave::schedules {

namespace {

using Table = std::map<std::string, Schedule>;

// Created by the first file that registers: C++ leaves the order of initialisation among files
// open.
Table &table(targets::Kind kind) {
    static Table cpu, gpu;
    return kind == targets::Kind::gpu ? gpu : cpu;
}

} // namespace

void enter(targets::Kind kind, const char *name, Schedule schedule) {
    if (table(kind).emplace(name, std::move(schedule)).second) return;
    std::fprintf(stderr, "kernel '%s' is registered twice for one kind of device\n", name);
    std::abort();
}

const Schedule *find_schedule(const std::string &name, targets::Kind kind) {
    const auto found = table(kind).find(name);
    return found == table(kind).end() ? nullptr : &found->second;
}

std::vector<std::string> kernel_names(targets::Kind kind) {
    std::vector<std::string> names;
    for (const auto &[name, schedule] : table(kind)) names.push_back(name);
    return names;
}

} // namespace longwave::schedules
