"""The queue of jobs. Each runs in a process of its own, so that none takes another down.

| state | meaning |
| --- | --- |
| queued | it waits for a worker |
| running | a worker runs it |
| paused | it was stopped and can go on; what it found so far can be looked at |
| done | it has a result |
| failed | it has none; the job's `error` says why |
| cancelled | it was taken back |

A worker that the system ends (``kill -9``, no memory) is started again, up to `RESTARTS` times; a
solve goes on from its last checkpoint. When the server stops, running jobs are put back into the
queue with a checkpoint; when it starts again, they go on. A server that was killed finds their last
checkpoints.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from subgame.errors import SubgameError
from subgame.serve.settings import Settings
from subgame.serve.store import Row, Store, new_id
from subgame.serve.worker import CANCELLED, RESULT, TASK, write_json

Listener = Callable[[Row], None]
WORKER = (sys.executable, "-m", "subgame.serve.worker")
"""The command of a worker; the folder of the data and the job are added."""
WAITING = ("queued", "running")
RESTARTS = 3
"""How often a job goes on after its worker was ended by the system."""
POINTS = 400
"""Points of a curve that are kept."""
GRACE, PATIENCE = 20.0, 120.0
"""Seconds that a worker has to end when the server stops, and when it was asked to end."""


class FullError(SubgameError):
    """Too many jobs wait."""


class Jobs:
    """Starts workers, follows what they report and tells everyone who listens."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.listeners: set[Listener] = set()
        self._lock = threading.RLock()
        self._running: dict[str, Worker] = {}
        self._closing = False
        for row in reversed(store.rows("jobs", 10_000)):
            if row["state"] == "running":  # the server was killed
                store.put("jobs", row | {"state": "queued"})
        self._start()

    # What people ask for ---------------------------------------------------------------------
    def submit(
        self, task: dict[str, object], name: str, files: Mapping[str, Path] | None = None
    ) -> Row:
        """Put a job into the queue; `files` are moved into its folder, under these names.

        The folder is complete before the job is: a server that is killed in between leaves no job
        without its files.
        """
        self.check_room()
        task = task | {"memory_limit": self.settings.memory_limit}
        id = new_id()
        folder = self.store.folder(id)
        folder.mkdir()
        for inside, path in (files or {}).items():
            path.rename(folder / inside)
        write_json(folder / TASK, task)
        row = self.store.add(
            "jobs",
            {
                "name": name,
                "kind": task["kind"],
                "state": "queued",
                "task": task,
                "phase": "",
                "share": 0.0,
                "curve": [],
                "error": "",
                "of": task.get("of"),
                "changed": time.time(),
            },
            id,
        )
        self._tell(row)
        self._start()
        return row

    def check_room(self) -> None:
        """Refuse a job if too many wait."""
        if self.store.count("jobs", *WAITING) >= self.settings.queue:
            raise FullError(
                f"{self.settings.queue} jobs wait or run already; wait for one to end, or cancel "
                "some."
            )

    def act(self, id: str, verb: str) -> Row:
        """Pause, resume, stop or cancel a job."""
        with self._lock:
            row, worker = self.store.get("jobs", id), self._running.get(id)
            state = row["state"]
            if verb == "resume" and state == "paused":
                self.check_room()
                return self._change(row, state="queued")
            if verb == "cancel" and worker is not None:
                worker.end("cancelled", kill=True)
            elif verb == "cancel" and state in ("queued", "paused"):
                return self._change(row, state="cancelled")
            elif verb == "stop" and worker is not None:
                worker.end("done")
            elif verb == "stop" and state == "paused":
                return self._change(row, state="done")
            elif verb == "pause" and worker is not None:
                if not _pauses(row["task"]):
                    raise SubgameError(
                        "Only solves in 32 bits and reports can be paused; stop it instead."
                    )
                worker.end("paused")
            else:
                raise SubgameError(f"A job that is {state} cannot be changed by '{verb}'.")
            return worker.row

    def rename(self, id: str, name: str) -> Row:
        """Give a job another name."""
        with self._lock:
            return self._change(self.store.get("jobs", id), name=name)

    def remove(self, id: str) -> None:
        """Forget a job and its files."""
        with self._lock:
            row = self.store.get("jobs", id)
            if row["state"] in WAITING:
                raise SubgameError("A job that waits or runs cannot be removed; cancel it first.")
            if any(row.get("of") == id for row in self.store.rows("jobs", 10_000)):
                raise SubgameError("Other jobs refine this one; remove them first.")
            shutil.rmtree(self.store.folder(id), ignore_errors=True)
            self.store.remove("jobs", id)
        self._tell(row | {"state": "removed"})

    def close(self) -> None:
        """Have the workers write checkpoints and end; their jobs go on with the next server."""
        with self._lock:
            self._closing = True
            workers = list(self._running.values())
            for worker in workers:
                worker.end(worker.wish or "queued")  # what people asked for comes first
        for worker in workers:
            worker.thread.join(GRACE)

    # What workers report ---------------------------------------------------------------------
    def _start(self) -> None:
        with self._lock:
            if self._closing:
                return
            waiting = [row for row in self.store.rows("jobs", 10_000) if row["state"] == "queued"]
            free = self.settings.workers - len(self._running)
            for row in waiting[::-1][: max(free, 0)]:
                row = self._change(row, state="running", phase="Starting", began=time.time())
                self._running[row["id"]] = Worker(self, row)

    def _change(self, row: Row, **new: object) -> Row:
        row = row | new | {"changed": time.time()}
        self.store.put("jobs", row)
        self._tell(row)
        if new.get("state") in ("queued", "cancelled"):
            self._start()
        return row

    def _tell(self, row: Row) -> None:
        for listener in tuple(self.listeners):
            listener(row)

    def ended(self, worker: Worker, code: int) -> None:
        """A worker's process has ended."""
        with self._lock:
            row, folder = worker.row, self.store.folder(worker.row["id"])
            code = CANCELLED if code == -signal.SIGINT else code
            self._running.pop(row["id"], None)
            written = folder / RESULT
            wish = worker.wish
            if wish == "cancelled":
                row = row | {"state": "cancelled"}
            elif worker.done and written.exists():  # however the process ended after that
                result = json.loads(written.read_text())
                state = _after(wish, row["task"], result)
                row = row | {"state": state, "result": _summary(result)}
                note = worker.late or row.get("note", "")
                row |= {"share": 1.0, "note": note} if state == "done" else {}
            elif wish in ("queued", "paused") and code == CANCELLED:
                row = row | {"state": wish}  # it had not begun to solve
            elif wish == "queued":
                row = row | {"state": "queued"}
            elif code == CANCELLED and not worker.late:
                row = row | {"state": "cancelled"}
            elif code < 0 and not worker.late and row.get("restarts", 0) < RESTARTS:
                row = row | _again(row, code)
            else:
                why = worker.error or worker.late or _crash(code, folder)
                row = row | {"state": "failed", "error": why}
            self._change(row, phase="", wish=None, left=None, ended=time.time())
        self._start()


class Worker:
    """One process and the thread that reads its reports."""

    def __init__(self, jobs: Jobs, row: Row) -> None:
        self.jobs, self.row = jobs, row
        self.wish: str | None = None
        self.error, self.done, self._put = "", False, 0.0
        self._folder = folder = jobs.store.folder(row["id"])
        with (folder / "log.txt").open("wb") as log, _without_interrupts():
            self.process = subprocess.Popen(
                [*WORKER, str(jobs.store.data), row["id"]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C in the server's terminal is not for workers
            )
        self.late = ""
        self._clock = threading.Timer(jobs.settings.seconds, self._stop_late)
        self._clock.daemon = True
        self._clock.start()
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def end(self, wish: str, kill: bool = False) -> None:
        """Ask the process to end, and after a while make it; `wish` is the job's next state."""
        self.wish = wish
        self._changed({})  # it may take a while to end; who asked is answered now
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
        if not kill:
            later = threading.Timer(PATIENCE, self._kill)
            later.daemon = True
            later.start()

    def _stop_late(self) -> None:
        self.late = f"It was stopped after {self.jobs.settings.seconds:g} s, the most for a job."
        self.end("done")

    def _kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()

    def _follow(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):
                self._heard(json.loads(line))
        code = self.process.wait()
        self._clock.cancel()
        self.jobs.ended(self, code)

    def _heard(self, said: Row) -> None:
        new: dict[str, Any] = {}
        self.error = said.get("error", self.error)
        self.done = self.done or bool(said.get("done"))
        for key in ("phase", "quote", "left"):
            if key in said:
                new[key] = said[key]
        if said.get("so_far"):
            new["result"] = _summary(json.loads(self._folder.joinpath(RESULT).read_text()))
        if "step" in said:
            iteration, seconds, share = said["step"]
            new |= {"iteration": iteration, "seconds": seconds, "share": share}
            new.setdefault("phase", "Solving")
        if "point" in said:
            before = [point for point in self.row["curve"] if point[0] < said["point"][0]]
            new["curve"] = thinned([*before, said["point"]])
        self._changed(new)
        if time.monotonic() - self._put > 1:
            self._put = time.monotonic()
            self.jobs.store.put("jobs", self.row)

    def _changed(self, new: Row) -> None:
        self.row = self.row | new | {"wish": self.wish, "changed": time.time()}
        self.jobs._tell(self.row)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that is started here hears of SIGINT once it asks for it, not while it loads."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def thinned(curve: list[list[float]]) -> list[list[float]]:
    """A curve with at most `POINTS` points: every other old one is left out.

    >>> len(thinned([[float(i)] for i in range(401)]))
    301
    """
    if len(curve) <= POINTS:
        return curve
    half = len(curve) // 2
    return curve[:half:2] + curve[half:]


def _pauses(task: dict[str, object]) -> bool:
    return task["kind"] in ("endgame", "lock", "game", "report") and task.get("storage") != "int16"


def _after(wish: str | None, task: dict[str, object], result: dict[str, object]) -> str:
    """The state of a job whose worker has a result."""
    if wish == "queued" and not _pauses(task):
        return "queued"  # the server stops; what was found is not all
    early = result.get("stopped") == "interrupted" and _pauses(task)
    return wish if wish in ("queued", "paused") and early else "done"


def _crash(code: int, folder: Path) -> str:
    """What to say of a worker that ended without a result."""
    with suppress(OSError):
        lines = (folder / "log.txt").read_text(errors="replace").strip().splitlines()
        if lines and code > 0:
            return f"The worker failed: {lines[-1][:300]}"
    if code < 0:
        name = signal.Signals(-code).name
        return (
            f"The worker was ended by the system ({name}), the last of {RESTARTS + 1} times; it "
            "may have run out of memory."
        )
    return f"The worker ended without a result (code {code})."


def _again(row: Row, code: int) -> Row:
    """What changes in a job whose worker was ended by the system and is started again."""
    restarts = row.get("restarts", 0) + 1
    times = "" if restarts == 1 else f" {restarts} times"
    name = signal.Signals(-code).name
    note = f"The system ended the worker{times} (last by {name}); the job went on."
    return {"state": "queued", "restarts": restarts, "note": note}


def _summary(result: dict[str, object]) -> dict[str, object]:
    """A result without its long tables, which are read from its file when they are asked for."""
    return {key: value for key, value in result.items() if key != "rows"}
