#!/usr/bin/env bash
# The test suites of real programs, once without guard and once with it, compared test by test. CI does not run this.
#
#   tests/transparent/suites.sh SUITE... [--jobs N] [--places "workspace gap"] [--only WORDS] [--times N]
#                              [--sides "plain guard"] [--dir DIR] [--guard FILE]
#
# SUITE is git, coreutils, cpython, stress-ng, fio or `all`; as root also coreutils-root (its `check-root`).
#   --jobs N     tests at a time (2)
#   --places     workspace: a repository in the home directory; gap: a folder directly in it that the run makes itself, where the
#                home directory is `no-delete` and guard performs all calls; outside: outside the home directory
#   --only       git: which scripts ("t0 t1 t3 t7"); coreutils: which files ("tests/cp/* tests/mv/*"); the others: which modules,
#                stressors or jobs
#   --times N    both sides N times: a test that does not always give the same result by itself is told from a difference
#   --sides      plain or guard: only that one is run, and compared with what an earlier run left of the other
#   --dir DIR    where everything lies (/tmp/guard-suites); sources and builds in it are used again
#   --guard FILE the guard to test; without it a release build is made
#
# Exit status 0 when nothing differs, 1 when something does, 2 when a suite could not be run. What differs is printed, and all
# results stay in DIR/results/SUITE/PLACE. Needs Debian 12 with the packages that `needs` below names, and the network for
# sources, which are fetched with a private list made from the machine's own. Started as root, the suites run as uid 65534
# (coreutils-root as root), otherwise as the caller; always in throw-away homes below DIR.
set -u -o pipefail
self=$(realpath "$0")
TIMEFORMAT='%0R s (processors %0U s user, %0S s system)' # of all that ran, guard's own processes too
export LC_ALL=C.UTF-8

suites=() jobs=2 places="workspace gap" sides="plain guard" only="" times=1 dir=/tmp/guard-suites guard="" uid=65534 home="" bad=0

say() { printf '%s\n' "$*"; }
die() { printf 'suites.sh: %s\n' "$*" >&2; exit 2; }

# needs PROGRAM PACKAGE: says what to install, and that the suite cannot be run.
needs() { command -v "$1" >/dev/null || { say "not run: needs $1 (apt-get install $2)"; return 1; }; }

# as_user COMMAND...: as the user of the suites, with an environment of its own.
as_user() {
  local become=()
  [ "$(id -u)" != 0 ] || [ "$uid" = 0 ] || become=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
  "${become[@]}" env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 TERM=dumb \
    SHELL=/bin/bash JOBS="$jobs" ONLY="$only" BUILD="$(realpath "$dir/build")" "$@"
}

# fetch PACKAGE: its source, as Debian has it from upstream, in $dir/build.
fetch() {
  local apt="$dir/apt" list
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,sources.d}
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$list" ] && sed -nE '/debian/ s/^deb(-src)?[[:space:]]/deb-src /p' "$list"
  done | sort -u >"$apt/sources.d/one-line.list"
  # Stanzas of Debian's own only, each as deb-src.
  for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] && awk 'BEGIN { RS = ""; ORS = "\n\n" } /(^|\n)URIs:[^\n]*debian/ { sub(/Types:[^\n]*/, "Types: deb-src"); print }' "$list"
  done >"$apt/sources.d/stanzas.sources"
  local options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/sources.d" -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  (cd "$apt" && apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only "$1") >"$apt/log" 2>&1 &&
    (cd "$dir/build" && dpkg-source --no-check --skip-patches -x "$apt/$1"_*.dsc) >>"$apt/log" 2>&1 ||
    { tail -n 5 "$apt/log"; return 1; }
}

# built PACKAGE: fetches and builds it as the user unless that was done before; prints its folder.
built() {
  local tree
  tree=$(ls -d "$dir/build/$1"-[0-9]*/ 2>/dev/null | head -n 1)
  if [ -z "$tree" ]; then
    say "fetching $1" >&2
    fetch "$1" >&2 || return 1
    tree=$(ls -d "$dir/build/$1"-[0-9]*/ | head -n 1)
  fi
  tree=${tree%/}
  if [ ! -e "$tree/.built" ]; then
    say "building $tree" >&2
    [ "$(id -u)" != 0 ] || chown -R "$uid:$uid" "$tree"
    (cd "$tree" && as_user nice bash "$dir/bin/suites.sh" inside "build_${1//-/_}") >"$dir/build/$1.log" 2>&1 ||
      { tail -n 5 "$dir/build/$1.log" >&2; return 1; }
    touch "$tree/.built"
  fi
  say "$tree"
}

# half SUITE PLACE SIDE NUMBER: one run in a new home; its results in results/SUITE/PLACE/SIDE.NUMBER.
half() {
  local suite=$1 place=$2 side=$3 out="$dir/results/$1/$2/$3.$4" where wrap=()
  rm -rf "$home" "$home-outside" "$out"
  mkdir -p "$home"/{keep,work} "$home-outside" "$out"
  echo kept >"$home/keep/file"; echo '# kept' >"$home/.bashrc"
  git init -q "$home/work"
  [ "$(id -u)" != 0 ] || chown -R "$uid:$uid" "$home" "$home-outside" "$out"
  case $place in
    workspace) where=$home/work ;;
    gap) where=$home ;;
    outside) where=$home-outside ;;
    *) die "unknown place $place" ;;
  esac
  [ "$side" = plain ] || wrap=("$dir/bin/guard" --policy default --)
  { time { (cd "$where" && as_user OUT="$out" PLACE="$place" nice "${wrap[@]}" bash "$dir/bin/suites.sh" inside "run_${suite//-/_}") \
    >"$out/stdout" 2>"$out/stderr" </dev/null; }; } 2>"$out/time"
  cp -r "$home/.local/state/guard/runs" "$out/record" 2>/dev/null
  sort -o "$out/list" "$out/list"
  say "   $side: $(wc -l <"$out/list") results, $(cat "$out/time"), $(grep -c '^guard: refused' "$out/stderr") refused"
  [ -f "$home/keep/file" ] || { say "   LOST: ~/keep/file"; bad=1; }
}

# compare SUITE PLACE: each test with the results that it gave on either side, where these differ.
compare() {
  local at="$dir/results/$1/$2" side
  [ -d "$at/plain.1" ] && [ -d "$at/guard.1" ] || return 0
  for side in plain guard; do
    cat "$at/$side".*/list | sort | uniq -c | sed -E 's/^ *([0-9]+) /\1\t/' |
      awk -F '\t' -v times="$times" '{ key = $2; many[key] = many[key] ($1 == times ? "" : $1 " of " times ": ") $3 "; " }
        END { for (k in many) print k "\t" many[k] }' | sort >"$at/$side"
  done
  join -t $'\t' -a 1 -a 2 -e - -o 0,1.2,2.2 "$at/plain" "$at/guard" >"$at/joined"
  awk -F '\t' '$2 != $3' "$at/joined" >"$at/differ"
  say "   $(wc -l <"$at/joined") tests: $(awk -F '\t' '$2 == $3' "$at/joined" | wc -l) same, $(wc -l <"$at/differ") differ"
  [ -s "$at/joined" ] || { say "   NOTHING RAN, see $at"; bad=1; }
  if [ -s "$at/differ" ]; then
    bad=1
    awk -F '\t' '{ print "   DIFFERS " $1; print "      without guard: " $2; print "      with guard:    " $3 }' "$at/differ"
  fi
}

# run SUITE: both halves in each place.
run() {
  local place side n
  for place in $places; do
    say "== $1, $place, $(id -nu "$uid" 2>/dev/null || say "$uid") (uid $uid), policy default, $jobs at a time"
    for side in $sides; do rm -rf "$dir/results/$1/$place/$side".*; done
    for n in $(seq "$times"); do for side in $sides; do half "$1" "$place" "$side" "$n"; done; done
    compare "$1" "$place"
  done
}

suite() {
  home=$dir/build
  case $1 in
    git | coreutils | coreutils-root)
      needs dpkg-source dpkg-dev && needs gcc gcc && needs make make && needs perl perl || return 2
      [ "$1" != git ] || needs msgfmt "gettext zlib1g-dev" || return 2
      built "${1%-root}" >/dev/null || return 2 ;;
    cpython) needs python3 python3 && /usr/bin/python3 -c 'import test.test_os' 2>/dev/null || { say "not run: needs libpython3-testsuite"; return 2; } ;;
    stress-ng) needs stress-ng stress-ng || return 2 ;;
    fio) needs fio fio || return 2 ;;
    *) die "unknown suite $1" ;;
  esac
  home=$dir/homes/$1
  needs git git && needs setpriv util-linux || return 2
  if [ "$1" = coreutils-root ]; then
    [ "$(id -u)" = 0 ] || { say "not run: not root"; return 2; }
    uid=0 run "$1"
  else
    run "$1"
  fi
}

# ---- what runs inside, as the user, in the place ----

build_git() { make -j2 "${git_make[@]}" all; }
build_coreutils() { ./configure --quiet && make -j2 && make -j2 check TESTS= ; }
git_make=(NO_CURL=1 NO_EXPAT=1 NO_TCLTK=1 NO_PYTHON=1 NO_OPENSSL=1 PERL_PATH=/usr/bin/perl SHELL_PATH=/bin/sh)

# here: the folder to work in; in the gap the run makes it itself.
here() { if [ "$PLACE" = gap ]; then mkdir -p "$HOME/made/suite" && cd "$HOME/made/suite" || exit 1; fi; }

# copied PACKAGE: a copy of the built tree becomes the working directory; paths that the build wrote down follow.
copied() {
  local from file
  from=$(ls -d "$BUILD/$1"-[0-9]*/.built) && from=${from%/.built} || exit 1
  cp -a "$from" tree && cd tree || exit 1
  grep -rlIF "$from" --include=Makefile --include='*.status' --include=GIT-BUILD-OPTIONS . bin-wrappers 2>/dev/null | sort -u |
    while read -r file; do touch -r "$file" ../stamp && sed -i "s#$from#$PWD#g" "$file" && touch -r ../stamp "$file"; done
}

run_git() {
  here; copied git; cd t || exit 1
  export OUT
  mkdir -p "$OUT/tap"
  for t in ${ONLY:-t0 t1 t3 t7}; do ls "$t"*.sh; done | xargs -P "$JOBS" -n 1 sh -c '
    timeout 1800 sh "./$0" >"$OUT/tap/$0" 2>&1; echo "exit $?" >>"$OUT/tap/$0"'
  awk -v OFS='\t' '{ name = FILENAME; sub(".*/", "", name) }
    /^(not )?ok [0-9]/ { n = $1 == "not" ? $3 : $2; print name " " n, $0 }
    /^(1\.\.|exit )/ { print name " " ($1 == "exit" ? "status" : "plan"), $0 }' "$OUT"/tap/* >"$OUT/list"
}

# trs: the results of an automake suite.
trs() {
  find . -name '*.trs' | while read -r t; do sed -n "s#^:test-result: #${t#./}\t#p" "$t"; done | grep . >"$OUT/list"
  find . -name '*.log' -newer ../began | tar czf "$OUT/logs.tar.gz" -T - 2>/dev/null
}

run_coreutils() {
  here; copied coreutils; touch ../began
  make -j "$JOBS" -k check RUN_EXPENSIVE_TESTS=no ${ONLY:+SUBDIRS=. TESTS="$(ls $ONLY | xargs)"} >"$OUT/log" 2>&1
  trs
}

run_coreutils_root() {
  here; copied coreutils; touch ../began
  make -j "$JOBS" -k check-root NON_ROOT_USERNAME=nobody >"$OUT/log" 2>&1
  trs
}

modules="test_os test_posix test_shutil test_tempfile test_pathlib test_zipfile test_tarfile test_subprocess test_socket test_mailbox
  test_dbm test_dbm_dumb test_sqlite3 test_multiprocessing_fork test_multiprocessing_spawn test_import test_venv test_glob
  test_fileio test_io test_largefile test_mmap test_posixpath test_stat test_signal test_asyncio test_logging test_file
  test_bz2 test_gzip test_lzma test_shelve test_zipimport test_compileall test_py_compile test_filecmp test_fileinput
  test_ftplib test_httpservers test_selectors test_threading test_concurrent_futures test_genericpath test_netrc test_pty
  test_openpty test_eintr test_fcntl test_ioctl test_lib2to3 test_runpy test_linecache test_site test_socketserver"

run_cpython() {
  here; mkdir -p tmp; export TMPDIR=$PWD/tmp OUT
  printf '%s\n' ${ONLY:-$modules} | xargs -P "$JOBS" -n 1 sh -c '
    /usr/bin/python3 -m test --timeout 900 --tempdir tmp --junit-xml "$OUT/$0.xml" "$0" >"$OUT/$0.log" 2>&1
    printf "%s\texit %s\n" "$0" $? >>"$OUT/list"'
  /usr/bin/python3 - "$OUT" >>"$OUT/list" <<'P'
import glob, os, sys, xml.etree.ElementTree as tree
for path in glob.glob(sys.argv[1] + "/*.xml"):
    for case in tree.parse(path).iter("testcase"):
        how = sorted({child.tag + (": " + (child.text or "") if child.tag == "skipped" else "") for child in case
                      if child.tag not in ("system-out", "system-err")}) or ["ok"]
        print(os.path.basename(path)[:-4] + " " + case.get("name") + "\t" + " ".join(" ".join(how).split()))
P
}

run_stress_ng() {
  here
  for s in ${ONLY:-$(stress-ng --class 'filesystem?' | sed 's/.*stressors: //')}; do
    stress-ng "--$s" 2 --timeout 3s --verify --metrics-brief --temp-path . >"$OUT/$s.log" 2>&1
    printf '%s\texit %s%s\n' "$s" "$?" "$(grep -q ' fail: ' "$OUT/$s.log" && echo ', says fail')" >>"$OUT/list"
  done
  ls -A >"$OUT/left"
}

# name and options of each job.
fio_jobs="sync --ioengine=sync --rw=randwrite
psync --ioengine=psync --rw=randrw
pvsync2 --ioengine=pvsync2 --rw=randwrite
libaio --ioengine=libaio --rw=randwrite --iodepth=8 --direct=1
posixaio --ioengine=posixaio --rw=randwrite --iodepth=4
mmap --ioengine=mmap --rw=randwrite
vsync --ioengine=vsync --rw=write
fsync --ioengine=psync --rw=randwrite --fsync=16
fallocate --ioengine=psync --rw=write --fallocate=posix
truncate --ioengine=psync --rw=randwrite --fallocate=truncate
append --ioengine=psync --rw=write --file_append=1
overwrite --ioengine=psync --rw=randwrite --overwrite=1
create-only --ioengine=filecreate --rw=write --fallocate=none --nrfiles=200 --filesize=4k --openfiles=1 --verify=0
stat --ioengine=filestat --rw=write --nrfiles=200 --filesize=4k --verify=0
delete --ioengine=filedelete --rw=write --nrfiles=200 --filesize=4k --verify=0
threads --ioengine=psync --rw=randwrite --thread --numjobs=4
processes --ioengine=psync --rw=randwrite --numjobs=4
ftruncate --ioengine=ftruncate --rw=write --fallocate=none --verify=0
falloc --ioengine=falloc --rw=randwrite --verify=0
splice --ioengine=splice --rw=write
shared --ioengine=psync --rw=randwrite --filename=one --numjobs=2 --verify=0
io_uring --ioengine=io_uring --rw=randwrite"

run_fio() {
  here
  local name options unlink
  while read -r name options; do
    [[ -z $ONLY || " $ONLY " == *" $name "* ]] || continue
    for unlink in 0 1; do
      mkdir -p "$name.$unlink"
      fio --name=job --directory="$name.$unlink" --size=8m --nrfiles=8 --bs=4k --randseed=7 --verify=crc32c --do_verify=1 \
        --verify_fatal=1 --unlink="$unlink" $options </dev/null >"$OUT/$name.$unlink.log" 2>&1
      printf '%s, unlink=%s\texit %s, %s%s\n' "$name" "$unlink" $? "$(ls -A "$name.$unlink" | wc -l) files left, " \
        "$(sed -nE 's/.*(err= ?[0-9]+).*/\1/p; s/.*issued rwts: (total=[0-9,]+).*/\1/p' "$OUT/$name.$unlink.log" | sort | uniq -c | xargs)" >>"$OUT/list"
    done
  done <<<"$fio_jobs"
}

if [ "${1:-}" = inside ]; then "$2"; exit; fi

while [ $# -gt 0 ]; do
  case $1 in
    --jobs | --places | --sides | --only | --times | --dir | --guard)
      [ $# -gt 1 ] || die "$1 needs a value"
      declare "${1#--}=$2"; shift ;;
    --help | -h) sed -n '2,/^set /{/^set /d; s/^# \?//p}' "$0"; exit ;;
    -*) die "unknown option $1" ;;
    all) suites+=(coreutils git stress-ng fio cpython) ;;
    *) suites+=("$1") ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || die "which suite? see --help"
[ "$(id -u)" = 0 ] || uid=$(id -u)

if [ -z "$guard" ]; then
  cd "$(dirname "$self")/../.." && cargo build -q --release || die "guard does not build"
  guard=${CARGO_TARGET_DIR:-target}/release/guard
fi
mkdir -p "$dir"/{bin,build,homes,results} && chmod 755 "$dir" "$dir"/{bin,build,homes,results} || exit 2
[ "$(id -u)" != 0 ] || chown "$uid:$uid" "$dir/build"
install -m 755 "$guard" "$dir/bin/guard" && install -m 755 "$self" "$dir/bin/suites.sh" || exit 2
for name in "${suites[@]}"; do suite "$name" || bad=$?; done
exit $bad
