#include "compiler/base/process_cleanup.h"
#include <chrono>
#include <csignal>
#include <mutex>
#include <new>
#include <set>
#include <thread>

namespace longwave::compiler {
namespace {

namespace fs = std::filesystem;

struct List {
    std::mutex mutex;
    std::set<pid_t> programs;
    std::set<fs::path> folders;
};

List &list() {
    // Never destroyed: a thread may look at it to the very end. Never allocated: so may a lack of
    // memory.
    alignas(List) static char memory[sizeof(List)];
    static List *const list = new (memory) List;
    return *list;
}

// A program that was just killed, or a thread of ours, may still put a file into it; other programs
// may have every file of the system open for a moment, or all of the memory.
void remove_at_last(const fs::path &folder, int tries) {
    while (tries-- > 0) {
        try {
            std::error_code error;
            fs::remove_all(folder, error);
            if (!error) return;
        } catch (const std::bad_alloc &) { // destructors call this
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

} // namespace

namespace unfinished {

int start_program(const std::function<int()> &start, const pid_t &pid) {
    List &all = list();
    const std::lock_guard lock(all.mutex);
    const int error = start();
    if (error == 0) all.programs.insert(pid);
    return error;
}

void end_program(pid_t pid) {
    List &all = list();
    const std::lock_guard lock(all.mutex);
    all.programs.erase(pid);
}

fs::path make_folder(const std::function<fs::path()> &make) {
    List &all = list();
    const std::lock_guard lock(all.mutex);
    fs::path path = make();
    if (path.empty()) return path;
    try {
        all.folders.insert(path);
    } catch (const std::bad_alloc &) {
        remove_at_last(path, 1);
        throw;
    }
    return path;
}

void remove_folder(const fs::path &path) {
    remove_at_last(path, 3); // nothing is lost when a temporary folder stays
    List &all = list();
    const std::lock_guard lock(all.mutex);
    all.folders.erase(path);
}

void abandon_all() {
    List &all = list();
    // And never unlocked: a compile that finds its programs killed waits here instead of reporting
    // it.
    all.mutex.lock();
    for (const pid_t pid : all.programs) kill(pid, SIGKILL);
    for (const fs::path &folder : all.folders) remove_at_last(folder, 200);
}

} // namespace unfinished

} // namespace longwave::compiler
