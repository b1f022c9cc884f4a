// The folder of compiled kernels. What lies in it becomes code that runs, so it is believed only
// where nobody else can have written it: folder and files belong to this user, and nobody else may
// write to them.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace longwave::compiler {

class KernelCacheFolder {
public:
    // `given`, or when that is empty $XDG_CACHE_HOME/longwave/kernels, else
    // ~/.cache/longwave/kernels; made where it is missing, for its owner alone. The failure says
    // why there can be no cache.
    static Expected<KernelCacheFolder> open(const std::string &given);
    KernelCacheFolder(KernelCacheFolder &&other) noexcept;
    KernelCacheFolder &operator=(KernelCacheFolder &&) = delete;
    ~KernelCacheFolder();

    // A regular file of ours; nothing for whatever else has that name.
    std::optional<std::vector<uint8_t>> read(const std::string &name) const;
    // Replaces what has that name. A file that cannot be written costs time only, and so does one
    // that was cut short: its hash will tell.
    void write(const std::string &name, std::span<const uint8_t> bytes) const;

private:
    explicit KernelCacheFolder(int folder) : folder_(folder) {}
    int folder_; // every name is looked up in this descriptor's folder: the path may lead elsewhere by now
};

} // namespace longwave::compiler
