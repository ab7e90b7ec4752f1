// SPDX-License-Identifier: Apache-2.0
// `readmost attach`, on the folders of another system.
#include "launch.hpp"

namespace readmost::command_test {
namespace {

class attach : public command {
 protected:
  attach() { unit("usr/lib/systemd/system/server@.service", "ExecStart=/bin/server\n"); }

  void unit(const std::string& name, const std::string& lines) const {
    fs::create_directories(path(name).parent_path());
    write(name, "[Service]\n" + lines);
  }

  ending with(words options) const {
    options.insert(options.begin(), {"attach", "--root", folder.string()});
    return readmost(options);
  }

  std::string written(const std::string& unit) const {
    return read(path("etc/systemd/system/" + unit + ".d/readmost.conf"));
  }
};

TEST_F(attach, writes_a_drop_in_and_says_what_puts_it_into_force) {
  const ending end = with({"server@1", "--prefer", "writer", "--stats=/var/log/a b.json"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              HasSubstr("systemctl daemon-reload && systemctl restart server@1.service\n"));
  EXPECT_EQ(written("server@1.service"),
            "# Written by 'readmost attach'; 'readmost attach --remove server@1.service' takes it "
            "away.\n[Service]\n"
            "Environment=\"LD_PRELOAD=" READMOST_IDLE_LIBRARY
            "\"\n"
            "Environment=\"READMOST_PREFER=writer\"\n"
            "Environment=\"READMOST_STATS=/var/log/a b.json\"\n");
}

TEST_F(attach, keeps_what_the_unit_preloads) {
  unit("usr/lib/systemd/system/cache.service", "Environment=\"LD_PRELOAD=/lib/old.so\" A=1\n");
  unit("etc/systemd/system/cache.service.d/10-heap.conf",
       "Environment='LD_PRELOAD=/lib/heap.so'\n");
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(with({"cache.service"}).code, 0);
    EXPECT_THAT(written("cache.service"),
                HasSubstr("\"LD_PRELOAD=" READMOST_IDLE_LIBRARY ":/lib/heap.so\"\n"));
  }
}

TEST_F(attach, takes_the_drop_in_away_and_leaves_others) {
  unit("etc/systemd/system/server@1.service.d/limits.conf", "LimitNOFILE=9\n");
  with({"server@1"});
  EXPECT_EQ(with({"--remove", "server@1"}).code, 0);
  EXPECT_FALSE(fs::exists(path("etc/systemd/system/server@1.service.d/readmost.conf")));
  EXPECT_TRUE(fs::exists(path("etc/systemd/system/server@1.service.d/limits.conf")));
  with({"server@2"});
  EXPECT_EQ(with({"--remove", "server@2"}).code, 0);
  EXPECT_FALSE(fs::exists(path("etc/systemd/system/server@2.service.d")));
}

TEST_F(attach, escapes_what_systemd_would_expand) {
  EXPECT_EQ(with({"server@1", "--stats=/tmp/100%.json"}).code, 0);
  EXPECT_THAT(written("server@1.service"), HasSubstr("READMOST_STATS=/tmp/100%%.json\""));
}

TEST_F(attach, refuses_in_one_line_what_would_not_work) {
  const auto refused = [&](const words& options, const words& parts) {
    words all{"attach", "--root", folder.string()};
    all.insert(all.end(), options.begin(), options.end());
    expect_refusal(all, 125, parts);
  };
  refused({"nginx"}, {"no unit 'nginx.service'", "list-unit-files"});
  refused({"a/b"}, {"'a/b' is no name of a unit"});
  refused({"backup.timer"}, {"'backup.timer' is no service", "name the service"});
  refused({"--remove", "server@1"}, {"server@1.service is not attached"});
  refused({"--remove", "--prefer", "writer", "server@1"}, {"--remove"});
  refused({"--prefer", "nobody", "server@1"}, {"unknown preference 'nobody'"});
  refused({}, {"no service is named", "readmost attach nginx"});
  unit("etc/systemd/system/file.service", "");
  write("etc/systemd/system/file.service.d", "a file where a folder belongs");
  refused({"file"}, {"cannot write", "file.service.d/readmost.conf"});
}

TEST_F(attach, refuses_a_library_that_the_service_cannot_see) {
  const fs::path library = path("lib.so");
  fs::copy_file(READMOST_IDLE_LIBRARY, library);
  environment = {"READMOST_LIBRARY=" + library.string()};
  unit("etc/systemd/system/safe.service", "PrivateTmp=yes\nProtectHome=true\n");
  // The folder of each test is in the system's temporary folder.
  if (!library.string().starts_with("/tmp/")) GTEST_SKIP() << library;
  expect_refusal({"attach", "--root", folder.string(), "safe"}, 125,
                 {"PrivateTmp=yes", "make install"});
}

TEST_F(attach, knows_services_of_the_user) {
  environment.emplace_back("XDG_CONFIG_HOME=/home/me/.config");
  unit("home/me/.config/systemd/user/sync.service", "");
  const ending end = with({"--user", "sync"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("systemctl --user restart sync.service"));
  EXPECT_TRUE(fs::exists(path("home/me/.config/systemd/user/sync.service.d/readmost.conf")));
}

}  // namespace
}  // namespace readmost::command_test
