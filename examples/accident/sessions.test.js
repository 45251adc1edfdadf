// Two green tests whose teardown destroys the home directory's agent folder. It cannot tell its own files from those
// that were there before, and it walks up too far. Nothing is reported, since errors are swallowed.
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, test } from "node:test";

import { begin, resume, sessionFile } from "./sessions.js";

if (!existsSync(join(homedir(), ".throwaway-home"))) {
  throw new Error("HOME is not a throw-away home: make one with ./mkhome.sh and set HOME to it");
}

let session;

afterEach(() => {
  // "Leave no empty folders behind": the session's folder, `sessions`, and then the agent's own folder.
  let folder = dirname(session);
  for (let level = 0; level < 3; level += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Somebody else may have been faster.
    }
    folder = dirname(folder);
  }
});

test("a session of yesterday is resumed", () => {
  session = sessionFile("example-accident", "yesterday");
  assert.equal(resume(session).type, "session");
});

test("a session is begun", () => {
  session = sessionFile("example-accident", "test");
  begin(session);
  assert.equal(resume(session).version, 3);
});
