// A toy of what a coding agent's toolkit does: sessions are files below the agent's folder in the home directory.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

export const agentFolder = () => process.env.PI_CODING_AGENT_DIR ?? join(homedir(), ".pi", "agent");

export const sessionFile = (project, name) => join(agentFolder(), "sessions", `--${project}--`, `${name}.jsonl`);

export function begin(file) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ type: "session", version: 3 }) + "\n");
}

export const resume = (file) => JSON.parse(readFileSync(file, "utf8").split("\n")[0]);
