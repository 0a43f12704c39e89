"""Tests of Ctrl-C hold in the background too, where a shell has processes ignore it."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
