// A value in a compile report, with its path. A missing value reads as empty or zero. A value of
// the wrong type throws WrongType, which report_text() catches.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

struct WrongType {
    std::string text; // "layers[3].ops: expected a list, found number"
};

class ReportValue {
public:
    explicit ReportValue(const nlohmann::ordered_json &json) : ReportValue(&json, "") {}
    ReportValue operator[](const char *key) const; // of an object
    bool has(const char *key) const { return bool((*this)[key]); }
    explicit operator bool() const { return json_ != nullptr; } // whether the value exists
    bool is_text() const;
    std::string text() const;  // printable()
    std::string lines() const; // printable_lines()
    double number() const;
    uint64_t count() const; // a whole number
    bool truth(bool otherwise) const;
    std::vector<ReportValue> list() const;

private:
    ReportValue(const nlohmann::ordered_json *json, std::string path);
    [[noreturn]] void wrong(const char *expected) const;
    const nlohmann::ordered_json *json_; // null: missing
    std::string path_;
};

// The entries of a compile report of one kind: "run" or "stream".
std::vector<ReportValue> entries_of(const ReportValue &report, const char *kind);

} // namespace longwave::cli
