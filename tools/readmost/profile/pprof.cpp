// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of pprof's profile.proto.
#include <zlib.h>

#include <chrono>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <stdexcept>
#include <tuple>

#include "profile/formats.hpp"

namespace readmost::command {
namespace {

enum class profile_field : protozero::pbf_tag_type {
  sample_type = 1,
  sample = 2,
  mapping = 3,
  location = 4,
  function = 5,
  string_table = 6,
  time_nanos = 9,
  duration_nanos = 10,
  default_sample_type = 14,
};
enum class value_type_field : protozero::pbf_tag_type { type = 1, unit = 2 };
enum class sample_field : protozero::pbf_tag_type { location_id = 1, value = 2, label = 3 };
enum class label_field : protozero::pbf_tag_type { key = 1, str = 2 };
enum class mapping_field : protozero::pbf_tag_type {
  id = 1,
  memory_start = 2,
  memory_limit = 3,
  file_offset = 4,
  filename = 5,
  build_id = 6,
  has_functions = 7,
  has_inline_frames = 10,
};
enum class location_field : protozero::pbf_tag_type {
  id = 1,
  mapping_id = 2,
  address = 3,
  line = 4
};
enum class line_field : protozero::pbf_tag_type { function_id = 1, line = 2 };
enum class function_field : protozero::pbf_tag_type {
  id = 1,
  name = 2,
  system_name = 3,
  filename = 4,
};

class builder {
 public:
  builder() {
    text("");
    add_type(profile_field::sample_type, "contentions", "count");
    add_type(profile_field::sample_type, "delay", "nanoseconds");
    profile_.add_int64(profile_field::default_sample_type, text("delay"));
  }

  void add(const process_profile& process) {
    process_ = &process;
    mappings_.clear();
    locations_.clear();
    for (const contention_stack& stack : process.stacks) add(stack);
  }

  std::string finished(double seconds) {
    using namespace std::chrono;
    const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    const auto length = static_cast<std::int64_t>(seconds * 1e9);
    profile_.add_int64(profile_field::time_nanos, now - length);
    profile_.add_int64(profile_field::duration_nanos, length);
    for (const std::string& each : in_order_) {
      profile_.add_string(profile_field::string_table, each);
    }
    return data_;
  }

 private:
  using location_key = std::pair<std::uintptr_t, std::size_t>;  // and the number of functions

  std::int64_t text(const std::string& of) {
    const auto [found, is_new] = strings_.try_emplace(of, in_order_.size());
    if (is_new) in_order_.push_back(of);
    return static_cast<std::int64_t>(found->second);
  }

  void add_type(profile_field field, const char* type, const char* unit) {
    protozero::pbf_builder<value_type_field> value(profile_, field);
    value.add_int64(value_type_field::type, text(type));
    value.add_int64(value_type_field::unit, text(unit));
  }

  void add(const contention_stack& stack) {
    std::vector<std::uint64_t> locations;
    for (const contention_frame& frame : stack.frames) locations.push_back(location_of(frame));
    const std::vector<std::int64_t> values{static_cast<std::int64_t>(stack.events),
                                           static_cast<std::int64_t>(stack.nanoseconds)};
    const std::int64_t program = text(process_->program);
    const std::int64_t lock = text(stack.lock);
    const std::int64_t deed = text(stack.deed);
    const std::int64_t keys[]{text("program"), text("lock"), text("deed")};
    protozero::pbf_builder<sample_field> sample(profile_, profile_field::sample);
    sample.add_packed_uint64(sample_field::location_id, locations.begin(), locations.end());
    sample.add_packed_int64(sample_field::value, values.begin(), values.end());
    const std::int64_t texts[]{program, lock, deed};
    for (std::size_t i = 0; i < std::size(keys); ++i) {
      protozero::pbf_builder<label_field> label(sample, sample_field::label);
      label.add_int64(label_field::key, keys[i]);
      label.add_int64(label_field::str, texts[i]);
    }
  }

  std::uint64_t location_of(const contention_frame& frame) {
    const auto [found, is_new] =
        locations_.try_emplace({frame.address, frame.functions.size()}, next_location_);
    if (!is_new) return found->second;
    const std::uint64_t mapping = mapping_of(frame.address);
    std::vector<std::uint64_t> functions;
    for (const function_name& each : frame.functions) functions.push_back(function_of(each));
    protozero::pbf_builder<location_field> location(profile_, profile_field::location);
    location.add_uint64(location_field::id, next_location_);
    location.add_uint64(location_field::mapping_id, mapping);
    location.add_uint64(location_field::address, frame.address);
    for (std::size_t i = 0; i < functions.size(); ++i) {
      protozero::pbf_builder<line_field> line(location, location_field::line);
      line.add_uint64(line_field::function_id, functions[i]);
      line.add_int64(line_field::line, frame.functions[i].line);
    }
    return next_location_++;
  }

  std::uint64_t mapping_of(std::uintptr_t address) {
    const code_mapping* const at = process_->names->mapping_of(address);
    if (at == nullptr) return 0;
    const auto [found, is_new] = mappings_.try_emplace(at, next_mapping_);
    if (!is_new) return found->second;
    const std::int64_t file = text(at->path);
    const std::int64_t build_id = text(process_->names->build_id_of(*at));
    protozero::pbf_builder<mapping_field> mapping(profile_, profile_field::mapping);
    mapping.add_uint64(mapping_field::id, next_mapping_);
    mapping.add_uint64(mapping_field::memory_start, at->start);
    mapping.add_uint64(mapping_field::memory_limit, at->end);
    mapping.add_uint64(mapping_field::file_offset, at->offset);
    mapping.add_int64(mapping_field::filename, file);
    mapping.add_int64(mapping_field::build_id, build_id);
    mapping.add_bool(mapping_field::has_functions, true);
    mapping.add_bool(mapping_field::has_inline_frames, true);
    return next_mapping_++;
  }

  std::uint64_t function_of(const function_name& of) {
    const auto [found, is_new] =
        functions_.try_emplace({of.text, of.source}, functions_.size() + 1);
    if (!is_new) return found->second;
    const std::int64_t name = text(of.text);
    const std::int64_t linked = text(of.linked.empty() ? of.text : of.linked);
    const std::int64_t source = text(of.source);
    protozero::pbf_builder<function_field> function(profile_, profile_field::function);
    function.add_uint64(function_field::id, found->second);
    function.add_int64(function_field::name, name);
    function.add_int64(function_field::system_name, linked);
    function.add_int64(function_field::filename, source);
    return found->second;
  }

  std::string data_;
  protozero::pbf_builder<profile_field> profile_{data_};
  std::map<std::string, std::size_t> strings_;
  std::vector<std::string> in_order_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
  std::uint64_t next_mapping_ = 1;
  std::uint64_t next_location_ = 1;
  // Of one process.
  const process_profile* process_ = nullptr;
  std::map<const code_mapping*, std::uint64_t> mappings_;
  std::map<location_key, std::uint64_t> locations_;
};

std::string compressed(std::string plain) {
  constexpr int with_header_of_gzip = 15 + 16;
  constexpr int default_memory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, with_header_of_gzip, default_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("cannot compress: out of memory");
  }
  std::string packed(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool complete = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (!complete) throw std::runtime_error("cannot compress the profile");
  return packed;
}

}  // namespace

std::string as_pprof(const std::vector<process_profile>& processes, double seconds) {
  builder profile;
  for (const process_profile& process : processes) profile.add(process);
  return compressed(profile.finished(seconds));
}

}  // namespace readmost::command
