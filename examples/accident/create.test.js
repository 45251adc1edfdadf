// A test that is green and removes an agent's whole history: its teardown walks up from the session file that it made
// and removes each parent. HOME has to be a throw-away one, with a file .throwaway-home in it.
//
//   npm test                     removes what it can, and the agent's folder with it
//   guard -- npm test            the same test, and nothing is lost
//   TEARDOWN=persistent ...      goes on after an error, as many teardowns do
//   TEARDOWN=repaired ...        removes the session's own folder, and nothing above it
//   SESSION_OF=name ...          a session folder of that name, which may have been there before
import test from "node:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";

if (!existsSync(join(homedir(), ".throwaway-home"))) {
  throw new Error("HOME is not a throw-away one: nothing is done");
}
const agent = process.env.PI_CODING_AGENT_DIR ?? join(homedir(), ".pi", "agent");
const persistent = process.env.TEARDOWN === "persistent";
const levels = process.env.TEARDOWN === "repaired" ? 1 : 3;

function sessionFile(project) {
  const name = process.env.SESSION_OF ?? project.replaceAll("/", "-");
  return join(agent, "sessions", `--${name}--`, "2026-09-02_test.jsonl");
}

function createSession(file) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '{"type":"session"}\n');
}

// As it was, three levels: the session's folder, sessions/, and the folder of the agent itself.
function teardown(file, project) {
  let level = dirname(file);
  for (let n = 0; n < levels && level !== dirname(level); n++, level = dirname(level)) {
    try {
      rmSync(level, { recursive: true, force: true });
    } catch (error) {
      console.log(`not removed: ${level}: ${error.code}`);
      if (!persistent) break;
    }
  }
  rmSync(project, { recursive: true, force: true });
}

test("a session is created", () => {
  const project = mkdtempSync(join(tmpdir(), "project-"));
  const file = sessionFile(project);
  try {
    createSession(file);
  } catch (error) {
    console.log(`not created: ${file}: ${error.code}`);
    if (!persistent) throw error;
  } finally {
    teardown(file, project);
  }
});
