// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <map>
#include <protozero/pbf_message.hpp>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

const std::string slow_writer = "contended::write_slowly()";
const std::string quick_writer = "contended::write_at_once()";
const std::string slow_reader = "contended::look_up()";
const std::string revoker = "contended::end_session()";
const std::string pthread_writer = "contended::post()";

struct stack {
  words frames;  // the outermost first
  long nanoseconds;
};

class profile : public real_command {
 protected:
  ~profile() override {
    if (program <= 0) return;
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
  }

  ending run(const std::string& file, const std::string& how = "return",
             const std::string& of = READMOST_CONTENDED_PROGRAM) const {
    return readmost({"run", "--profile", file, "--", of, how});
  }

  // That the functions of the contended program have lost what they lose to locks other than the
  // one that is always pthread's; and that their stacks are whole, also without frame pointers,
  // with nothing of the library in them.
  void expect_all_of(const std::vector<stack>& stacks) const {
    const auto writers = callers(stacks, "waits to write", "routes");
    EXPECT_EQ(most(writers), slow_writer);
    EXPECT_GE(writers.at(slow_writer), 8 * 20'000'000);
    EXPECT_GT(writers.at(quick_writer), 0);
    const auto readers = callers(stacks, "waits to read", "routes");
    EXPECT_EQ(most(readers), slow_reader);
    EXPECT_GE(readers.at(slow_reader), 2 * 10'000'000);
    EXPECT_EQ(most(callers(stacks, "revokes the bias", "sessions")), revoker);
    for (const stack& each : stacks) {
      EXPECT_THAT(each.frames.front(),
                  ContainsRegex("^lock contended::(routes|sessions|accounts) \\((lib)?command_"
                                "contended_[a-z_.]+\\)$"));
      for (const std::string& frame : each.frames) EXPECT_THAT(frame, Not(StartsWith("readmost")));
      const std::string& innermost = each.frames.at(each.frames.size() - 2);
      EXPECT_THAT(innermost, StartsWith("contended::"));
      const bool in_thread = std::ranges::any_of(each.frames, [](const std::string& frame) {
        return frame == "main" || frame.find("thread") != frame.npos || frame == "clone3";
      });
      EXPECT_TRUE(in_thread) << each.frames.size();
    }
  }

  std::vector<stack> collapsed(const std::string& file) const {
    std::vector<stack> all;
    std::istringstream lines(read(path(file)));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.rfind(' ');
      stack one{{}, std::stol(line.substr(space + 1))};
      std::istringstream frames(line.substr(0, space));
      for (std::string frame; std::getline(frames, frame, ';');) one.frames.push_back(frame);
      all.push_back(one);
    }
    return all;
  }

  // The time of each function that does this to the lock, where the lock's own functions are left
  // out.
  static std::map<std::string, long> callers(const std::vector<stack>& stacks,
                                             const std::string& deed, const std::string& lock) {
    const auto is_lock = [&](const std::string& frame) {
      return frame.starts_with("lock contended::" + lock + " ");
    };
    std::map<std::string, long> time;
    for (const stack& each : stacks) {
      if (each.frames.back() == deed && std::ranges::any_of(each.frames, is_lock)) {
        time[each.frames.at(each.frames.size() - 2)] += each.nanoseconds;
      }
    }
    return time;
  }

  static std::string most(const std::map<std::string, long>& time) {
    const auto found =
        std::ranges::max_element(time, {}, &std::map<std::string, long>::value_type::second);
    return found != time.end() ? found->first : "";
  }

  // What a script of this folder prints about a file.
  json judged_by(const std::string& script, const std::string& file) {
    executable = "/usr/bin/python3";
    const ending end = wait(start({std::string(READMOST_SCRIPTS) + "/" + script, path(file)}));
    executable = READMOST_COMMAND;
    EXPECT_EQ(end.code, 0) << end.err << read(path(file));
    return end.code == 0 ? json::parse(end.out) : json::array();
  }

  void serve(const words& variables,
             const std::string& served = READMOST_CONTENDED_PROGRAM " serve") {
    environment = variables;
    environment.push_back(std::string("LD_PRELOAD=") + READMOST_REAL_LIBRARY);
    executable = "/bin/sh";
    program = start({"-c", "exec " + served + " > ready"});
    environment.clear();
    executable = READMOST_COMMAND;
    EXPECT_EQ(read_when_written(path("ready")), "ready\n");
  }

  pid_t program = 0;
};

TEST_F(profile, names_the_functions_that_lose_most_time) {
  const ending end = run("stacks.folded");
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "");
  expect_all_of(collapsed("stacks.folded"));
}

// Locks of the classes, and of pthread in the same program.
class profile_of_classes : public profile, public ::testing::WithParamInterface<const char*> {};

TEST_P(profile_of_classes, names_the_functions_that_lose_most_time_to_either_kind_of_lock) {
  const ending end = run("stacks.folded", "return", GetParam());
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "");
  const std::vector<stack> stacks = collapsed("stacks.folded");
  expect_all_of(stacks);
  EXPECT_GE(callers(stacks, "waits to write", "accounts")[pthread_writer], 10'000'000);
}

TEST_P(profile_of_classes, is_written_however_the_program_ends) {
  for (const auto& [how, code] : std::map<std::string, int>{
           {"_exit", 3}, {"exit", 0}, {"exec", 0}, {"fork", 0}, {"signal", 0}}) {
    const ending end = run(how + ".folded", how, GetParam());
    EXPECT_TRUE(end.exited);
    EXPECT_EQ(end.code, code) << how;
    const std::vector<stack> stacks = collapsed(how + ".folded");
    EXPECT_EQ(most(callers(stacks, "waits to write", "routes")), slow_writer) << how;
    EXPECT_EQ(most(callers(stacks, "revokes the bias", "sessions")), revoker) << how;
  }
}

TEST_P(profile_of_classes, tells_programs_apart_that_one_process_executes) {
  run("exec.folded", "exec", GetParam());
  std::map<std::string, long> programs;
  for (const stack& each : collapsed("exec.folded")) programs[each.frames.front()] += 1;
  EXPECT_THAT(programs, ::testing::Each(::testing::Key(
                            ContainsRegex("^command_contended_classes(_shared)? \\([0-9]+\\)$"))));
}

TEST_P(profile_of_classes, of_a_running_program_is_taken_by_top) {
  serve({"READMOST_PROFILE=1"}, std::string(GetParam()) + " serve");
  const ending end = readmost(
      {"top", "-p", std::to_string(program), "--profile", "live.folded", "--seconds", "1.5"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "");
  const std::vector<stack> stacks = collapsed("live.folded");
  EXPECT_EQ(most(callers(stacks, "waits to write", "routes")), slow_writer);
  EXPECT_EQ(most(callers(stacks, "waits to write", "accounts")), pthread_writer);
}

INSTANTIATE_TEST_SUITE_P(linked, profile_of_classes,
                         ::testing::Values(READMOST_CONTENDED_CLASSES,
                                           READMOST_CONTENDED_CLASSES_SHARED),
                         [](const auto& of) { return of.index == 0 ? "statically" : "shared"; });

TEST_F(profile, of_classes_is_kept_where_nothing_is_preloaded) {
  const ending end = run("static.folded", "return", READMOST_CONTENDED_CLASSES_STATIC);
  EXPECT_THAT(end.err, AllOf(StartsWith("readmost: warning: "), HasSubstr("statically linked")));
  EXPECT_EQ(std::ranges::count(end.err, '\n'), 1);
  expect_all_of(collapsed("static.folded"));

  executable = "/bin/sh";
  environment = {"READMOST_PROFILE=1"};
  program = start({"-c", "exec " READMOST_CONTENDED_CLASSES " serve > ready"});
  environment.clear();
  executable = READMOST_COMMAND;
  EXPECT_EQ(read_when_written(path("ready")), "ready\n");
  const ending live = readmost(
      {"top", "-p", std::to_string(program), "--profile", "live.folded", "--seconds", "1.5"});
  EXPECT_EQ(live.err, "");
  EXPECT_EQ(most(callers(collapsed("live.folded"), "waits to write", "routes")), slow_writer);
}

TEST_F(profile, has_the_classes_of_a_plugin) {
  for (const std::string plugin : {READMOST_CONTENDED_PLUGIN, READMOST_CONTENDED_PLUGIN_SHARED}) {
    const ending end = readmost(
        {"run", "--profile", "plugin.folded", "--", READMOST_CONTENDED_PROGRAM, "plugin", plugin});
    EXPECT_EQ(end.code, 0);
    EXPECT_EQ(end.err, "");
    const std::vector<stack> stacks = collapsed("plugin.folded");
    expect_all_of(stacks);
    const std::string posted = "lock contended::accounts (command_contended_program)";
    EXPECT_THAT(stacks, ::testing::Contains(::testing::Field(
                            &stack::frames, ::testing::AllOf(::testing::Contains(posted),
                                                             ::testing::Contains(pthread_writer)))))
        << read(path("plugin.folded"));
  }
}

TEST_F(profile, is_a_flame_graph_whose_widest_frames_lead_to_that_function) {
  const ending end = run("graph.svg");
  EXPECT_EQ(end.err, "");
  const json frames = judged_by("flame_graph_frames.py", "graph.svg");
  std::map<std::string, double> width;
  for (const json& frame : frames) {
    const auto name = frame["name"].get<std::string>();
    double& known = width[name.substr(0, name.find(" (", name.find("()") + 2))];
    known = std::max(known, frame["width"].get<double>());
  }
  for (const std::string& other : {quick_writer, slow_reader, revoker}) {
    EXPECT_GT(width[slow_writer], width[other]) << frames;
  }
  const std::string text = read(path("graph.svg"));
  EXPECT_THAT(text, HasSubstr("Time lost to locks by command_contended_program"));
  EXPECT_THAT(text, Not(ContainsRegex("(src|href)=\"https?:"))) << "needs nothing else";
}

std::string unpacked(const std::string& file) {
  const gzFile packed = gzopen(file.c_str(), "rb");
  std::string content(1 << 20, '\0');
  const int length = gzread(packed, content.data(), static_cast<unsigned>(content.size()));
  EXPECT_EQ(gzclose(packed), Z_OK);
  content.resize(static_cast<std::size_t>(std::max(length, 0)));
  return content;
}

// The field numbers of profile.proto.
TEST_F(profile, is_a_pprof_file) {
  EXPECT_EQ(run("profile.pb.gz").err, "");
  const std::string content = unpacked(path("profile.pb.gz"));
  words strings;
  std::map<std::uint64_t, std::int64_t> names;       // of functions
  std::map<std::uint64_t, std::uint64_t> innermost;  // functions of locations
  std::vector<std::pair<std::uint64_t, std::int64_t>> samples;
  std::vector<std::int64_t> deeds;
  int types = 0;
  for (protozero::pbf_reader all(content); all.next();) {
    if (all.tag() == 1) {
      ++types;
      all.skip();
    } else if (all.tag() == 2) {
      std::pair<std::uint64_t, std::int64_t> one{0, 0};
      std::int64_t deed = 0;
      for (protozero::pbf_reader sample = all.get_message(); sample.next();) {
        if (sample.tag() == 1) {
          one.first = *sample.get_packed_uint64().begin();
        } else if (sample.tag() == 2) {
          const auto values = sample.get_packed_int64();
          ASSERT_EQ(values.size(), 2u);
          one.second = *std::next(values.begin());
        } else if (sample.tag() == 3) {
          for (protozero::pbf_reader label = sample.get_message(); label.next();) {
            const std::int64_t value = label.get_int64();
            if (label.tag() == 2) deed = value;
          }
        } else {
          sample.skip();
        }
      }
      samples.push_back(one);
      deeds.push_back(deed);
    } else if (all.tag() == 4) {
      std::uint64_t id = 0;
      for (protozero::pbf_reader location = all.get_message(); location.next();) {
        if (location.tag() == 1) {
          id = location.get_uint64();
        } else if (location.tag() == 4 && !innermost.contains(id)) {
          protozero::pbf_reader line = location.get_message();
          ASSERT_TRUE(line.next(1));
          innermost[id] = line.get_uint64();
        } else {
          location.skip();
        }
      }
    } else if (all.tag() == 5) {
      std::uint64_t id = 0;
      for (protozero::pbf_reader function = all.get_message(); function.next();) {
        if (function.tag() == 1) {
          id = function.get_uint64();
        } else if (function.tag() == 2) {
          names[id] = function.get_int64();
        } else {
          function.skip();
        }
      }
    } else if (all.tag() == 6) {
      strings.push_back(all.get_string());
    } else {
      all.skip();
    }
  }
  ASSERT_FALSE(strings.empty());
  EXPECT_EQ(strings[0], "");
  EXPECT_EQ(types, 2);
  EXPECT_THAT(strings, ::testing::IsSupersetOf({"contentions", "count", "delay", "nanoseconds"}));
  std::map<std::string, long> flat;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto name = static_cast<std::size_t>(names.at(innermost.at(samples[i].first)));
    flat[strings.at(name)] += samples[i].second;
    EXPECT_THAT(
        strings.at(static_cast<std::size_t>(deeds[i])),
        ::testing::AnyOf("waits to read", "waits to write", "revokes the bias", "sessions"));
  }
  EXPECT_EQ(most(flat), slow_writer);
}

TEST_F(profile, is_written_however_the_program_ends) {
  for (const auto& [how, code] :
       std::map<std::string, int>{{"_exit", 3}, {"exec", 0}, {"fork", 0}}) {
    const ending end = run(how + ".folded", how);
    EXPECT_TRUE(end.exited);
    EXPECT_EQ(end.code, code) << how;
    EXPECT_EQ(most(callers(collapsed(how + ".folded"), "waits to write", "routes")), slow_writer)
        << how;
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const ending end = run("abort.folded", "abort");
  EXPECT_FALSE(end.exited);
  EXPECT_EQ(end.code, SIGABRT) << "as without a profile";
  EXPECT_EQ(most(callers(collapsed("abort.folded"), "waits to write", "routes")), slow_writer);
}

TEST_F(profile, tells_programs_apart_that_one_process_executes) {
  run("exec.folded", "exec");
  words programs;
  for (const stack& each : collapsed("exec.folded")) programs.push_back(each.frames.front());
  EXPECT_THAT(programs, ::testing::Each(ContainsRegex("^command_contended_program \\([0-9]+\\)$")));
}

TEST_F(profile, passes_signals_on_to_the_program) {
  const fs::path waits = script("waits",
                                "trap 'echo told > told; exit 7' TERM\n"
                                "echo ready > ready\n"
                                "while :; do sleep 0.05; done\n");
  const pid_t child = start({"run", "--profile", "p.folded", "--", waits});
  EXPECT_EQ(read_when_written(path("ready")), "ready\n");
  kill(child, SIGTERM);
  EXPECT_EQ(wait(child).code, 7);
  EXPECT_EQ(read(path("told")), "told\n");
}

TEST_F(profile, of_a_program_that_loses_no_time_says_so) {
  const ending end = readmost({"run", "--profile", "p.svg", "--", "/bin/true"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "readmost run: no thread lost time to a lock: the profile is empty\n");
  EXPECT_EQ(judged_by("flame_graph_frames.py", "p.svg").size(), 2u);
  readmost({"run", "--profile", "p.folded", "--", "/bin/true"});
  EXPECT_EQ(read(path("p.folded")), "");
}

TEST_F(profile, leaves_nothing_behind) {
  fs::create_directory(path("tmp"));
  environment = {"TMPDIR=" + path("tmp").string()};
  run("p.svg");
  EXPECT_TRUE(fs::is_empty(path("tmp")));
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  };
  const auto before = files();
  readmost({"run", "--", READMOST_CONTENDED_PROGRAM, "return"});
  EXPECT_TRUE(fs::is_empty(path("tmp")));
  EXPECT_EQ(files(), before) << "nothing is written without a profile";
}

TEST_F(profile, refuses_what_it_cannot_write) {
  const words rest{"--", READMOST_CONTENDED_PROGRAM, "return"};
  const auto asking = [&](const std::string& file) {
    words all{"run", "--profile", file};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  expect_refusal(asking("p.png"), 125, {"'p.png'", ".svg", ".pb.gz", ".folded"});
  expect_refusal(asking("no/folder.svg"), 125, {"--profile", "no/folder.svg", "No such file"});
  words other = asking("p.svg");
  other.insert(other.begin() + 1, {"--lock", "ba"});
  expect_refusal(other, 125, {"--profile", "'ba'", "--lock prwlock"});

  const std::string pipe = path("pipe.folded").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const ending alone = run("pipe.folded");
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.err, AllOf(HasSubstr(pipe), HasSubstr("nobody reads from this pipe")));
  EXPECT_EQ(std::ranges::count(alone.err, '\n'), 1);
}

TEST_F(profile, is_not_kept_where_the_library_cannot_write) {
  environment = {"READMOST_PROFILE=/no/such/folder"};
  const ending end = readmost({"run", "--", READMOST_CONTENDED_PROGRAM, "return"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err, AllOf(HasSubstr("READMOST_PROFILE=/no/such/folder"), HasSubstr("or 1\n")));

  const ending both = readmost({"run", "--", READMOST_CONTENDED_CLASSES, "return"});
  EXPECT_EQ(both.code, 0);
  EXPECT_THAT(both.err, AllOf(HasSubstr("no profile of pthread_rwlock_t is kept"),
                              HasSubstr("no profile of Readmost's classes is kept")));
  EXPECT_EQ(std::ranges::count(both.err, '\n'), 2) << both.err;
}

TEST_F(profile, of_another_build_of_the_library_is_not_shown) {
  fs::create_directory(path("tmp"));
  environment = {"TMPDIR=" + path("tmp").string()};
  // Such a table in place of the program's own.
  const fs::path other =
      script("other", "printf 'readmost stacks\\0other' > \"$READMOST_PROFILE/1-1.stacks\"\n");
  const ending end = readmost({"run", "--profile", "p.folded", "--", other});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err, HasSubstr("readmost: warning: process 1 has a profile of another build"));
}

TEST_F(profile, of_a_running_program_is_taken_by_top) {
  serve({"READMOST_PROFILE=1"});
  const ending end = readmost(
      {"top", "-p", std::to_string(program), "--profile", "live.folded", "--seconds", "1.5"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(most(callers(collapsed("live.folded"), "waits to write", "routes")), slow_writer);
  EXPECT_EQ(
      readmost({"top", "-p", std::to_string(program), "--profile", "live.svg", "--seconds", "0.6"})
          .code,
      0);
  EXPECT_GT(judged_by("flame_graph_frames.py", "live.svg").size(), 3u);
}

TEST_F(profile, of_a_program_that_keeps_none_is_refused_by_top) {
  serve({});
  expect_refusal({"top", "-p", std::to_string(program), "--profile", "live.folded"}, 125,
                 {"keeps no profile", "READMOST_PROFILE=1 readmost run -- "});
}

// --- OpenMetrics ---------------------------------------------------------------------------------

using open_metrics = profile;

double value_of(const json& samples, const std::string& name, const json& labels) {
  double sum = 0;
  for (const json& sample : samples) {
    if (sample["name"] != name) continue;
    const bool fits = std::ranges::all_of(labels.items(), [&](const auto& label) {
      return sample["labels"][label.key()] == label.value();
    });
    if (fits) sum += sample["value"].get<double>();
  }
  return sum;
}

TEST_F(open_metrics, of_a_run_are_valid_and_agree_with_the_program) {
  const ending end = readmost({"run", "--stats=locks.prom", "--", READMOST_LOCK_PLACES});
  EXPECT_EQ(end.code, 0) << end.err;
  const json samples = judged_by("open_metrics_samples.py", "locks.prom");
  const json routes{{"place", "places::routes (command_lock_places)"}};
  EXPECT_EQ(value_of(samples, "readmost_reads_total", routes), 100'000);
  EXPECT_EQ(value_of(samples, "readmost_writes_total", routes), 10);
  EXPECT_EQ(value_of(samples, "readmost_reads_total", json::object()),
            value_of(samples, "readmost_process_reads_total", json::object()));
  EXPECT_EQ(value_of(samples, "readmost_process_info", {{"lock", "prwlock"}}), 1);
  const auto waits = std::ranges::find(samples, "readmost_revocation_seconds", [](const json& s) {
    return s["family"].get<std::string>();
  });
  ASSERT_NE(waits, samples.end());
  EXPECT_EQ((*waits)["unit"], "seconds");
  EXPECT_THAT(read(path("locks.prom")), ::testing::EndsWith("\n# EOF\n"));
}

TEST_F(open_metrics, tell_of_waits) {
  readmost({"run", "--stats=locks.prom", "--", READMOST_CONTENDED_PROGRAM, "return"});
  const json samples = judged_by("open_metrics_samples.py", "locks.prom");
  const json writers{{"by", "writers"}, {"place", "contended::routes (command_contended_program)"}};
  EXPECT_GE(value_of(samples, "readmost_wait_seconds_count", writers), 9);
  EXPECT_GE(value_of(samples, "readmost_wait_seconds_sum", writers), 0.16);
  EXPECT_GE(value_of(samples, "readmost_longest_wait_seconds", writers), 0.02);
}

TEST_F(open_metrics, of_several_processes_stand_in_one_valid_text) {
  readmost({"run", "--stats=locks.prom", "--", READMOST_RWLOCK_PROGRAM, "3"});
  const json samples = judged_by("open_metrics_samples.py", "locks.prom");
  EXPECT_EQ(value_of(samples, "readmost_process_info", json::object()), 4);
}

TEST_F(open_metrics, survive_a_program_name_that_is_no_text) {
  const fs::path strange = path("a\xff\"\\\n\x1b[31m\xc3\xa9");
  fs::copy_file(READMOST_LOCK_PLACES, strange);
  const ending end = readmost({"run", "--stats=locks.prom", "--", strange});
  EXPECT_EQ(end.code, 0) << end.err;
  const json samples = judged_by("open_metrics_samples.py", "locks.prom");
  EXPECT_THAT(samples.at(0)["labels"]["program"].get<std::string>(),
              ::testing::EndsWith("a\xef\xbf\xbd\"\\\n\\x1b[31m\xc3\xa9"));
}

TEST_F(open_metrics, of_a_running_program_are_written_by_top) {
  serve({"READMOST_STATS=/dev/null"});
  const std::string process = std::to_string(program);
  const ending once = readmost({"top", "-p", process, "--once", "--openmetrics", "-"});
  EXPECT_EQ(once.code, 0) << once.err;
  write("once.prom", once.out);
  const json first = judged_by("open_metrics_samples.py", "once.prom");
  const json sessions{{"place", "contended::sessions (command_contended_program)"}};
  EXPECT_GE(value_of(first, "readmost_reads_total", sessions), 400'000);
  EXPECT_EQ(value_of(first, "readmost_process_threads", json::object()) > 0, true);

  write("kept.prom", "old\n");
  EXPECT_EQ(
      readmost({"top", "-p", process, "-n", "3", "-d", "0.3", "--openmetrics", "kept.prom"}).code,
      0);
  const json last = judged_by("open_metrics_samples.py", "kept.prom");
  EXPECT_GT(value_of(last, "readmost_reads_total", sessions),
            value_of(first, "readmost_reads_total", sessions));
}

TEST_F(open_metrics, are_not_written_where_they_cannot_be) {
  serve({"READMOST_STATS=/dev/null"});
  const std::string process = std::to_string(program);
  expect_refusal({"top", "-p", process, "--once", "--openmetrics", "no/such.prom"}, 125,
                 {"--openmetrics", "no/such.prom"});
  expect_refusal({"top", "-p", process, "--once", "--openmetrics", "/dev/full"}, 125,
                 {"'/dev/full'", "- for stdout"});
  expect_refusal({"run", "--stats=no/such.prom", "--", READMOST_LOCK_PLACES}, 125,
                 {"--stats", "no/such.prom"});
  const std::string pipe = path("pipe.prom").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const ending alone = readmost({"run", "--stats=pipe.prom", "--", READMOST_LOCK_PLACES});
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.err, AllOf(HasSubstr(pipe), HasSubstr("nobody reads from this pipe")));
  EXPECT_EQ(std::ranges::count(alone.err, '\n'), 1);
}

}  // namespace
}  // namespace readmost::command_test
