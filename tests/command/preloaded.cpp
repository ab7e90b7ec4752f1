// Gives the preloaded library something to hold; the tests only ask whether it is mapped.
extern "C" int readmost_command_test_library() {
  return 0;
}
