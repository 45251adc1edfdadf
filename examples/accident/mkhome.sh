#!/bin/sh
# mkhome.sh DIR: makes DIR a throw-away home with ten files of a coding agent that never was.
# Writes into an empty or new folder, or into one that it made before; refuses any other.
set -eu

home=${1:?"usage: mkhome.sh DIR"}
marker=$home/.throwaway-home

if [ -e "$home" ] && [ ! -e "$marker" ] && [ -n "$(ls -A "$home")" ]; then
    echo "mkhome.sh: $home is not empty and has no .throwaway-home; it will not be touched" >&2
    exit 1
fi

agent=$home/.pi/agent
mkdir -p "$agent/sessions/--web--" "$agent/sessions/--notes--" "$agent/extensions" "$agent/npm"
: > "$marker"

session() {
    printf '{"type":"session","version":3,"id":"%s"}\n' "$2" > "$agent/sessions/$1.jsonl"
}
session --web--/yesterday y1
session --web--/today t1
session --notes--/monday n1
session --notes--/tuesday n2
echo '{"provider":{"type":"oauth","refresh":"not-a-secret"}}' > "$agent/auth.json"
echo '{"theme":"dark"}' > "$agent/settings.json"
echo '{"models":[]}' > "$agent/models.json"
echo 'Run the tests before you say that you are done.' > "$agent/AGENTS.md"
echo 'export default () => console.log("hello");' > "$agent/extensions/greet.ts"
echo '{"dependencies":{}}' > "$agent/npm/package.json"
