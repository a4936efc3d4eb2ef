"""Becomes a child process, after telling the warden about it.

In:  the file descriptor of the warden's input, then the command.
Out: the command, in this very process: same PID, same log, default signals.

A program of its own, run as a file with nothing but the standard library.
"""

import os
import signal
import sys


def main(descriptor: int, command: list[str]) -> None:
    os.set_inheritable(descriptor, False)
    try:
        os.write(descriptor, b"+%d\n" % os.getpid())
    except BrokenPipeError:
        sys.exit("the warden is gone: nobody would end this process if the supervisor were killed")
    # Python ignores these, and what is ignored stays so in the program that takes over.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
