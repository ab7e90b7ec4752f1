"""What ends the command with one line that says what is wrong and what to do about it."""

STATUS = 125  # as the other commands of readmost have it


class Failure(Exception):
    pass
