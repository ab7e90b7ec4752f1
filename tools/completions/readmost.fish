# SPDX-License-Identifier: Apache-2.0
# Completion of readmost's words in fish. It asks the command itself.
function __readmost_words
    set -l typed (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor)
    $typed[1] --complete $typed[2..] 2>/dev/null
end
complete --command readmost --arguments '(__readmost_words)'
