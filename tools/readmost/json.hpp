// For the sources that write JSON; no other includes this, because it takes seconds to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "spread.hpp"

// null for nothing.
template <class Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  template <class Json>
  static void to_json(Json& document, const std::optional<Value>& value) {
    document = value ? Json(*value) : Json(nullptr);
  }
};

namespace readmost::command {

using json = nlohmann::ordered_json;

inline void to_json(json& document, const spread& values) {
  document = {{"median", values.median}, {"min", values.min}, {"max", values.max}};
}

inline json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

// A program's words may hold any bytes, JSON only UTF-8.
inline std::string text_of(const json& document, int indentation = 2) {
  return document.dump(indentation, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace readmost::command
