// What the marked copies of the verifier ask (mark_checks.py): whether one of its checks is left
// out.
#pragma once

namespace longwave::attack {

inline constexpr int most_checks = 2000;
// -1: none. A rule of the verifier is left out as -100 - its number.
inline int removed = -1;
// Checks that said no since this was cleared.
inline bool refused[most_checks];

// Asked when the operand is true, which refuses.
inline bool on(int check) {
    refused[check] = true;
    return check != removed;
}
// Asked when the operand is false, which refuses.
inline bool off(int check) {
    refused[check] = true;
    return check == removed;
}
// What a check behind this one answered: an artifact::Broken, or a text.
template <class Answer> Answer kept(int check, Answer answer) {
    if (!answer) return answer;
    if constexpr (requires { answer.rule; })
        if (answer.rule == -100 - removed) return {};
    refused[check] = true;
    return check == removed ? Answer{} : answer;
}

} // namespace longwave::attack
