// SPDX-License-Identifier: Apache-2.0
// Loses time to locks in functions of known names, and then ends as its argument says: `return`,
// `_exit`, `abort`, `exec` (does it all once more), `fork` (a child does it), `signal` (a handler
// does it), `exit` (while a thread waits), `serve` (does it again and again), or `plugin` (the
// plug-in of the next argument does it, which is this file compiled with -DREADMOST_PLUGIN).
// Compiled without frame pointers, and with the standard library's locks inlined. With
// -DREADMOST_CLASSES the locks but one are of the C++ class and of the C API, else pthread's.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>

#if defined(READMOST_CLASSES)
#include <readmost.h>

#include <readmost/shared_mutex.hpp>
#endif

namespace contended {

#if defined(READMOST_CLASSES)
readmost::shared_mutex routes;
readmost_rwlock_t sessions = READMOST_RWLOCK_INITIALIZER;
#else
std::shared_mutex routes;
pthread_rwlock_t sessions = PTHREAD_RWLOCK_INITIALIZER;
#endif
std::shared_mutex accounts;
std::atomic<pid_t> waiting_thread{0};
volatile int written = 0;

bool is_asleep(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  char text[256] = {};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  const std::string_view stat(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name_end = stat.rfind(") ");
  return name_end != stat.npos && stat.substr(name_end + 2, 1) == "S";
}

[[gnu::noinline]] void write_slowly() {
  const std::unique_lock hold(routes);
  written = written + 1;
}

[[gnu::noinline]] void write_at_once() {
  const std::lock_guard hold(routes);
  written = written + 2;
}

[[gnu::noinline]] void look_up() {
  const std::shared_lock hold(routes);
  written = written + 3;
}

[[gnu::noinline]] void post() {
  const std::lock_guard hold(accounts);
  written = written + 6;
}

// A thread calls the function and finds the lock taken until it has slept for that long.
template <class Lock>
void let_wait(Lock& lock, void (*function)(), useconds_t microseconds) {
  lock.lock();
  waiting_thread = 0;
  std::thread waiter([function] {
    waiting_thread = static_cast<pid_t>(syscall(SYS_gettid));
    function();
    written = written + 4;  // so that this is not its last call
  });
  while (waiting_thread == 0 || !is_asleep(waiting_thread)) usleep(100);
  usleep(microseconds);
  lock.unlock();
  waiter.join();
}

#if defined(READMOST_CLASSES)
[[gnu::noinline]] void end_session() {
  readmost_rwlock_wrlock(&sessions);
  written = written + 5;
  readmost_rwlock_wrunlock(&sessions);
}

void read_often() {
  for (int i = 0; i < 20'000; ++i) {
    readmost_rwlock_rdlock(&sessions);
    readmost_rwlock_rdunlock(&sessions);
  }
}
#else
[[gnu::noinline]] void end_session() {
  pthread_rwlock_wrlock(&sessions);
  written = written + 5;
  pthread_rwlock_unlock(&sessions);
}

void read_often() {
  for (int i = 0; i < 20'000; ++i) {
    pthread_rwlock_rdlock(&sessions);
    pthread_rwlock_unlock(&sessions);
  }
}
#endif

void lose_time() {
  for (int i = 0; i < 8; ++i) let_wait(routes, write_slowly, 20'000);
  let_wait(routes, write_at_once, 0);
  for (int i = 0; i < 2; ++i) let_wait(routes, look_up, 10'000);
  let_wait(accounts, post, 10'000);
  // Reads earn the bias, which the next write takes away.
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends) read_often();
  });
  for (int i = 0; i < 300; ++i) {
    read_often();
    end_session();
  }
  ends = true;
  reader.join();
}

void exit_while_a_thread_waits() {
  routes.lock();
  std::thread(write_slowly).detach();
  usleep(20'000);
  std::exit(0);
}

}  // namespace contended

#if defined(READMOST_PLUGIN)
extern "C" void contend() {
  contended::lose_time();
}
#else
int main(int, char** arguments) {
  const std::string end = arguments[1];
  if (end == "plugin") {
    void* const plugin = dlopen(arguments[2], RTLD_NOW);
    auto* const contend =
        plugin != nullptr ? reinterpret_cast<void (*)()>(dlsym(plugin, "contend")) : nullptr;
    if (contend == nullptr) return 1;
    contend();
    contended::let_wait(contended::accounts, contended::post, 10'000);
    return 0;
  }
  if (end == "signal") {
    std::signal(SIGUSR1, [](int) { contended::lose_time(); });
    std::raise(SIGUSR1);
    return 0;
  }
  if (end == "fork") {
    const pid_t child = fork();
    if (child != 0) {
      waitpid(child, nullptr, 0);
      return 0;
    }
    contended::lose_time();
    _exit(0);
  }
  contended::lose_time();
  if (end == "serve") {
    std::puts("ready");
    std::fflush(stdout);
    for (;;) contended::lose_time();
  }
  if (end == "exit") contended::exit_while_a_thread_waits();
  if (end == "_exit") _exit(3);
  if (end == "abort") std::abort();
  if (end == "exec") execl("/proc/self/exe", arguments[0], "return", nullptr);
  return 0;
}
#endif
