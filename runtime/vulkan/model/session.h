// The common beginning of every session of this library. library/calls.cc reads `kind` to find the
// session's type.
#pragma once
#include "runtime/vulkan/model/model.h"

namespace longwave::runtime::vulkan {

struct SessionHeader {
    const fb::EntryKind kind; // run: RunSession; stream: StreamSession
    const Model *model = nullptr;

    explicit SessionHeader(fb::EntryKind k) : kind(k) {}
    const Gpu &gpu() const { return model->gpu(); }
};

// The core hands sessions out as runtime::Session, which has no definition here.
inline SessionHeader &header_of(Session &session) { return reinterpret_cast<SessionHeader &>(session); }
inline const SessionHeader &header_of(const Session &session) {
    return reinterpret_cast<const SessionHeader &>(session);
}
inline Session *handle_of(SessionHeader &session) { return reinterpret_cast<Session *>(&session); }

} // namespace longwave::runtime::vulkan
