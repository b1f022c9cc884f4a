#include "runtime/platform/threads.h"
#include "runtime/platform/kernels.h"
#include "runtime/platform/windows/system.h"
#include <climits>
#include <new>

namespace longwave::platform {

static HANDLE &handle(unsigned char *memory) { return *reinterpret_cast<HANDLE *>(memory); }

void *Thread::live(void *memory) {
    const Thread &thread = *static_cast<const Thread *>(memory);
    thread.work_(thread.context_);
    return nullptr;
}

bool Thread::start(void (*work)(void *), void *context, uint64_t stack_bytes) {
    static_assert(sizeof(HANDLE) <= sizeof system_ && alignof(HANDLE) <= 8);
    work_ = work;
    context_ = context;
    const auto run = [](void *thread) WINAPI -> DWORD {
        live(thread);
        return 0;
    };
    // The size is what the system commits, so the thread never waits for a page of its stack.
    const HANDLE thread = CreateThread(nullptr, stack_bytes, run, this, 0, nullptr);
    new (system_) HANDLE(thread);
    return thread != nullptr;
}

void Thread::join() {
    WaitForSingleObject(handle(system_), INFINITE);
    CloseHandle(handle(system_));
}

bool Semaphore::open() {
    static_assert(sizeof(HANDLE) <= sizeof system_ && alignof(HANDLE) <= 8);
    return *new (system_) HANDLE(CreateSemaphoreW(nullptr, 0, LONG_MAX, nullptr)) != nullptr;
}
void Semaphore::close() { CloseHandle(handle(system_)); }
void Semaphore::post() { ReleaseSemaphore(handle(system_), 1, nullptr); }
void Semaphore::wait() { WaitForSingleObject(handle(system_), INFINITE); }

void prepare_stack() {
    constexpr uintptr_t page = 4096;
    const auto given =
        reinterpret_cast<uintptr_t>(reinterpret_cast<const NT_TIB *>(NtCurrentTeb())->StackLimit);
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here - kernel_stack_bytes >= given) return;
    for (uintptr_t depth = page; depth <= kernel_stack_bytes; depth += page)
        (void)*reinterpret_cast<volatile const char *>(here - depth);
}

} // namespace longwave::platform
