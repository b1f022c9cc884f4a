#include "runtime/device_cpu.h"
#include "formats/artifact/hash.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace longwave::runtime {

Code::Fault Code::load(const uint8_t *image, uint64_t size, const uint8_t *expected_hash) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t bytes = (size + page - 1) / page * page;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Fault::memory;
    base_ = static_cast<uint8_t *>(memory);
    mapped_ = bytes;
    memcpy(base_, image, size);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(base_, size, digest);
    if (!artifact::equal_hash(digest, expected_hash)) {
        unload();
        return Fault::hash;
    }
    if (mprotect(base_, mapped_, PROT_READ | PROT_EXEC) != 0) {
        unload();
        return Fault::protect;
    }
    __builtin___clear_cache(reinterpret_cast<char *>(base_), reinterpret_cast<char *>(base_ + size));
    return Fault::none;
}

void Code::unload() {
    if (base_) munmap(base_, mapped_);
    base_ = nullptr;
    mapped_ = 0;
}

#if defined(__x86_64__)
FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(static_cast<unsigned>(saved_) | 0x8040); } // FTZ, DAZ
FlushDenormals::~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
FlushDenormals::FlushDenormals() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    const uint64_t mode = saved_ | 1ull << 24; // FZ
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}
FlushDenormals::~FlushDenormals() { __asm__ volatile("msr fpcr, %0" ::"r"(saved_)); }
#else
FlushDenormals::FlushDenormals() : saved_(0) {}
FlushDenormals::~FlushDenormals() {}
#endif

} // namespace longwave::runtime
