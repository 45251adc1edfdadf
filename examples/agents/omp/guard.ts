// Written by `guard agent wrap omp`.
const begin = "'/usr/local/bin/guard' -- /bin/bash -c ";
const quote = (text: string) => "'" + text.replaceAll("'", "'\\''") + "'";
const isWrapped = (command: string) => {
  if (!command.startsWith(begin + "'") || !command.endsWith("'")) return false;
  const word = command.slice(begin.length);
  return word.length > 1 && quote(word.slice(1, -1).replaceAll("'\\''", "'")) === word;
};
export default function (pi: any) {
  pi.on("tool_call", (event: any) => {
    if (event.toolName !== "bash") return;
    const command = event.input.command;
    if (typeof command !== "string" || command.includes("\0")) throw new Error("guard: no command that a shell can run");
    if (!isWrapped(command)) event.input.command = begin + quote(command);
  });
}
