//! The everyday work: what people and agents do on a working day, with programs that most machines have.

use super::homes::Kind;
use super::{ROW, Row, Weight};

/// A row in home itself.
const fn row(name: &'static str, needs: &'static [&'static str], script: &'static str) -> Row {
    Row {
        name,
        needs,
        script,
        ..ROW
    }
}

/// A repository with five commits, in a folder of home.
const REPOSITORY: &str = "mkdir r && cd r && git init -q -b main && for i in 1 2 3 4 5; do seq $i > f$i; git add .; git commit -qm c$i; done";

/// A project with a dependency in an archive, and a test that works in temporary folders. The archive and the lock are made
/// by hand: npm would take seconds.
const PROJECT: &str = r#"mkdir -p package proj && cd package && echo '{"name":"dep","version":"1.0.0","bin":{"hello":"hello.js"}}' > package.json
echo 'module.exports=42' > index.js; printf '#!/usr/bin/env node\nconsole.log("hello",process.argv[2])\n' > hello.js; chmod +x hello.js; cd ..
tar --sort=name --mtime=@1 --owner=0 --group=0 -cf - package | gzip -n > proj/dep.tgz; rm -r package; cd proj
echo '{"name":"p","version":"1.0.0","scripts":{"test":"node --test"},"dependencies":{"dep":"file:dep.tgz"}}' > package.json
echo '{"name":"p","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"p","version":"1.0.0","dependencies":{"dep":"file:dep.tgz"}},
  "node_modules/dep":{"version":"1.0.0","resolved":"file:dep.tgz","bin":{"hello":"hello.js"}}}}' > package-lock.json
cat > a.test.js <<'X'
const t=require('node:test'),a=require('node:assert'),fs=require('fs'),os=require('os'),path=require('path');
t('dep',()=>a.equal(require('dep'),42));
t('tmp',()=>{const d=fs.mkdtempSync(path.join(os.tmpdir(),'x-'));fs.writeFileSync(d+'/a','1');fs.rmSync(d,{recursive:true})});
t('here',()=>{fs.mkdirSync('out/x',{recursive:true});fs.writeFileSync('out/x/a','1');fs.rmSync('out',{recursive:true})});
t('home',()=>{const d=path.join(os.homedir(),'.app-test');fs.mkdirSync(d);fs.writeFileSync(d+'/a','1');fs.rmSync(d,{recursive:true})});
X"#;

/// A wheel without pip: a module of one line.
const WHEEL: &str = r#"mkdir -p proj && cd proj && python3 - <<'E'
import zipfile
for v in '1', '2':
    with zipfile.ZipFile(f'w-{v}-py3-none-any.whl', 'w') as z:
        put = lambda name, text: z.writestr(zipfile.ZipInfo(name), text)
        put('w/__init__.py', f'v = {v}\n'); put(f'w-{v}.dist-info/METADATA', f'Metadata-Version: 2.1\nName: w\nVersion: {v}\n')
        put(f'w-{v}.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: me\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        put(f'w-{v}.dist-info/entry_points.txt', '[console_scripts]\nsay-w = w:__name__.strip\n'); put(f'w-{v}.dist-info/RECORD', '')
E"#;

#[rustfmt::skip] // one row a line
pub const ROWS: &[Row] = &[
    Row {
        before: PROJECT, cwd: "proj", ignore: &[".npm", "node_modules/.package-lock.json"], weight: Weight::Heavy,
        ..row("npm ci, npm test, npx of a local package", &["npm", "node"], "npm ci --no-progress 2>&1 | sed 's/ in [0-9.]*m\\?s$//' && npm test 2>&1 | grep -E '^(# |ℹ )(tests|pass|fail)' && npx hello you && npm ci --no-progress --silent && ls -A")
    },
    Row {
        before: PROJECT, ignore: &[".npm"], weight: Weight::Heavy,
        ..row("npm in home itself", &["npm", "node"], "echo {} > package.json && npm install --silent ./proj/dep.tgz && node -p 'require(\"dep\")' && npm uninstall --silent dep && cat package.json && npm install --silent -g --prefix ~/.npm-global ./proj/dep.tgz && ls -A ~/.npm-global/bin")
    },
    Row {
        before: WHEEL, cwd: "proj", loose: &[".pyc"], ignore: &[".cache"], weight: Weight::Heavy,
        ..row("pip install into a venv and with --user", &["python3"], "python3 -m venv --system-site-packages v && export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=$PWD/v/bin:$PATH && pip install -q ./w-1-py3-none-any.whl && python -c 'import w; print(w.v)' && pip install -q ./w-2-py3-none-any.whl && python -c 'import w; print(w.v)' && pip uninstall -qy w && pip install -q --user ./w-1-py3-none-any.whl && python -c 'import w; print(w.v, w.__file__.startswith(__import__(\"os\").environ[\"HOME\"] + \"/.local\"))' && ls ~/.local/bin && pip uninstall -qy w")
    },
    Row { before: WHEEL, loose: &[".pyc"], ..row("a venv in home, a module run, bytecode", &["python3"], "python3 -m venv --without-pip v && echo 'import proj_mod' > m.py && echo 'print(6 * 7)' > proj_mod.py && v/bin/python m.py && v/bin/python m.py && python3 -m unittest 2>&1 | head -3 && python3 -m venv --clear --without-pip v && rm -r v") },
    Row {
        before: "mkdir -p g && cd g && git init -q && printf 'module x\\n\\ngo 1.19\\n' > go.mod && printf 'package main\\nfunc main(){println(42)}\\n' > main.go",
        cwd: "g", ignore: &["go-build", "/x"], weight: Weight::Heavy,
        ..row("go build, go install", &["go", "git"], "export GOFLAGS=-buildvcs=false GOTOOLCHAIN=local; go build -o x . && ./x 2>&1 && go vet && GOBIN=~/go/bin go install . && ls ~/go/bin && go env -w GOFLAGS=-mod=mod && go env -u GOFLAGS && go clean -cache && ls ~/.cache")
    },
    Row {
        before: REPOSITORY, cwd: "r", loose: &["/index", ".pack", ".idx", ".rev"],
        ..row("git commit, rebase -i, merge, stash, worktree, gc", &["git"], "echo x > x && git add x && git commit -qm x && GIT_SEQUENCE_EDITOR='sed -i -e 2s/pick/squash/ -e 3s/pick/reword/' GIT_EDITOR='sh -c \"echo edited >> $1\" -' git rebase -q -i HEAD~4 2>&1; git log --format=%s; git checkout -q -b t; echo y > f1; git commit -qam y; git checkout -q main; echo z > f1; git commit -qam z; git merge -q t 2>&1; git checkout -q --theirs f1; git add f1; git commit -qm m; echo q > f2; git stash -q; git stash pop -q; git worktree add -q ../w t; (cd ../w; echo w > w; git add w; git commit -qm w; git gc -q); git worktree remove ../w; git reflog expire --expire=now --all; git gc -q --prune=now; git fsck 2>&1; git rm -q f3; git reset -q --hard; git clean -fdxq; git branch -q -D t; git log --format='%H %s'; git status --short")
    },
    Row {
        homes: &[Kind::Full], cwd: "old1", loose: &["/index", ".pack", ".idx", ".rev"],
        ..row("git in a repository of years ago", &["git"], "git worktree add -q ../w1 -b wb && (cd ../w1 && echo a > a && git add a && git commit -qm a && git rebase -q HEAD~1) && git merge -q wb && git worktree remove ../w1 && git branch -q -d wb && rm f1 && git checkout -q f1 && git fetch -q ../old2 main && git gc -q --prune=now && git clean -fdx && git checkout -q -b n HEAD~2 && git status --short && git log --format='%H %s'")
    },
    Row {
        homes: &[Kind::Full], before: "cd old1 && git worktree add -q ../w2 -b w2", cwd: "w2", loose: &["/index", ".pack", ".idx", ".rev"],
        ..row("git in a worktree beside its repository", &["git"], "echo a > a && git add a && git commit -qm a && git rm -q f1 && git commit -qm r && git gc -q --prune=now && git switch -q -c other && git branch -q -D w2 && git log --format='%H %s'")
    },
    Row { homes: &[Kind::Full], loose: &["index"], ..row("git from home: clone, push, settings, a commit in an old repository", &["git"], "git config --global alias.x status && git config --global --unset alias.x && git clone -q old1 cl && cd cl && echo b > b && git add b && git commit -qm b && git push -q origin HEAD:new && cd .. && rm -rf cl && cd old1 && echo n > n && git add n && git commit -qm n && git log --format='%H %s' --all") },
    Row { homes: &[Kind::Full], loose: &["index"], before: "cp -r old1/.git dot && git --git-dir=dot config core.bare true", ..row("settings in a bare repository", &["git"], "g=\"git --git-dir=$HOME/dot --work-tree=$HOME\"; $g config status.showUntrackedFiles no && $g reset -q && $g add .bashrc && $g commit -qm b .bashrc && echo x >> .bashrc && $g commit -qm x .bashrc && $g log --format='%H %s'") },
    row("a shell's everyday", &["tar", "gzip", "patch", "sed"], "echo a > x; cp x y; mv x z; ln z h; ln -s z l; mkdir -p d/e; mv y d/; rm -r d; rm h l; sed -i s/a/b/ z; tee t < z; tar cf t.tar z; gzip -n t.tar; gunzip t.tar.gz; rm t.tar; install -m 600 z i; chmod +x z; printf '1c1\\n< b\\n---\\n> c\\n' | patch -s z; cat z; split -l 1 z sp; sort -o z z; truncate -s 5 z; dd if=/dev/zero of=dd bs=1 count=3 2>/dev/null; mkdir -p .app/v1 .app/v2; ln -sfn v1 .app/now; ln -sfn v2 .app/now; rm -r .app/v1; rm \"$(mktemp -p ~)\"; ls -A"),
    Row { homes: &[Kind::Full], ..row("changing what was there", &["sed", "perl", "tar", "gzip"], "set -e; sed -i s/letter/brief/ Documents/letter1.txt; echo more >> Documents/letter2.txt; mv Documents/letter3.txt Documents/letter4.txt; cp -f Pictures/p.png Documents/letter1.txt; mv Documents Papers; ln -sfn Papers docs; chmod 600 Downloads/x.iso; touch Downloads/x.iso; mkdir -p Projects; mv old2 Projects/; tar czf old.tgz Projects; gzip -kn Downloads/x.iso; perl -pi -e s/a/b/ Downloads/x.iso; : > .python_history; mv .hidden .shown; rm old.tgz; ls -A") },
    Row { cwd: "proj", before: "mkdir -p proj/old && echo x > proj/old/x", ..row("tests that use home as a sandbox", &[], "mkdir ~/.myapp && echo a > ~/.myapp/config && mv ~/.myapp/config ~/.myapp/config.old && rm -rf ~/.myapp old; mkdir -p fake/.ssh; HOME=$PWD/fake bash -c 'echo k > ~/.ssh/id_rsa; chmod 600 ~/.ssh/id_rsa; rm -rf ~/.ssh; mkdir ~/.claude; rm -r ~/.claude'; ls -A ~") },
    Row { before: "mkdir -p m && cd m && git init -q && printf 'p:\\n\\techo echo hi > p\\ninstall: p\\n\\tinstall -D -m755 p $(HOME)/.local/bin/p\\nclean:\\n\\trm -f p\\n' > Makefile", cwd: "m", ..row("make install into ~/.local, twice", &["make", "git"], "make -s && make -s install && make -s install && ln -sf p ~/.local/bin/q && make -s clean && ls ~/.local/bin") },
    row("vim saves in home", &["vim", "script"], "mkdir -p Documents; for f in new.txt Documents/letter1.txt .bashrc; do echo old >> $f; script -qec \"vim -i NONE -c 'normal Ohello' -c wq $f\" /dev/null </dev/null >/dev/null; cat $f; done; for how in 'backupcopy=no backup' backupcopy=yes patchmode=.orig; do script -qec \"vim -i NONE -c 'set $how' -c 'normal Oagain' -c wq new.txt\" /dev/null </dev/null >/dev/null; done; cat new.txt; ls -A"),
    Row { homes: &[Kind::Fresh], ignore: &[".viminfo"], ..row("vim's history, in a home without one", &["vim", "script"], "for n in 1 2; do script -qec \"vim -c 'normal Ohello' -c wq n.txt\" /dev/null </dev/null >/dev/null; done; cat n.txt; ls -A") },
    row("nano saves in home", &["nano", "script"], "mkdir -p Documents; for f in n.txt .profile; do typing 'hello ' '\\x0f' '\\r' '\\x18' | script -qec \"nano $f\" /dev/null >/dev/null; head -c 100 $f; done; ls -A"),
    row("bash history", &["script"], "typing 'echo one\\r' 'history -a\\r' 'exit\\r' | script -qec 'bash -i' /dev/null >/dev/null; tail -n 2 .bash_history; typing 'echo two\\r' 'exit\\r' | script -qec 'env HISTFILESIZE=20 bash -i' /dev/null >/dev/null; wc -l < .bash_history"),
    Row { homes: &[Kind::Full], ..row("histories of other programs", &["python3", "node", "sqlite3", "less", "script"], "typing '1+1\\r' 'exit()\\r' | script -qec 'python3 -i' /dev/null >/dev/null; typing '1+1\\r' '.exit\\r' | script -qec node /dev/null >/dev/null; typing 'select 1;\\r' '.quit\\r' | script -qec 'sqlite3 x.db' /dev/null >/dev/null; typing '/root\\r' q | script -qec 'less /etc/passwd' /dev/null >/dev/null; ls -A") },
    Row { ignore: &["newkey"], ..row("ssh-keygen -f ~/newkey", &["ssh-keygen"], "ssh-keygen -q -t ed25519 -N '' -C c -f ~/newkey && stat -c '%a %n' newkey* && ssh-keygen -q -p -P '' -N abcde -f newkey && ssh-keygen -y -P abcde -f newkey | cut -c1-11 && ssh-keygen -q -t ed25519 -N '' -f ~/newkey2 && rm newkey2 newkey2.pub") },
    Row { homes: &[Kind::Full], ..row("ssh meets a host", &["ssh", "ssh-keygen"], "ssh -o ConnectTimeout=2 -p 1 127.0.0.1 true 2>&1; ssh-keygen -R h 2>/dev/null; ssh-keygen -F h; ls -A ~/.ssh") },
    Row { ignore: &[".gnupg/S."], loose: &["pubring.kbx", "trustdb.gpg"], ..row("gpg --list-keys, first run and later", &["gpg"], "gpg --list-keys 2>&1 | sed \"s#$HOME##\"; gpg --list-keys 2>&1 | tail -n +3 | sed \"s#$HOME##\"; ls -A ~/.gnupg; echo hi | gpg --batch --store | gpg --batch -d") },
    Row { loose: &[".db", "persist"], ..row("sqlite databases in home", &["sqlite3"], "sqlite3 a.db 'pragma journal_mode=wal; create table t(a); insert into t values(1),(2);'; for i in 1 2 3 4; do sqlite3 -cmd '.timeout 9000' a.db \"insert into t values($i)\" & done; wait; sqlite3 a.db 'select count(*) from t; vacuum; pragma journal_mode=delete'; for m in delete truncate persist memory off; do sqlite3 $m.db \"pragma journal_mode=$m; create table t(a); begin; insert into t values(1); commit; select * from t\"; done; sqlite3 a.db '.backup b.db'; ls -A") },
    Row { homes: &[Kind::Full], loose: &[".db"], ..row("a sqlite database of years ago", &["sqlite3"], "sqlite3 notes.db 'insert into n values(3); pragma journal_mode=wal; insert into n values(4); select count(*) from n; vacuum; pragma journal_mode=delete;' && sqlite3 notes.db 'begin; insert into n values(5); rollback; select count(*) from n' && ls notes*") },
    row("tmux, with a server of its own", &["tmux"], "tmux -L guard-test-$$ new -d 'echo hi > from-tmux'; for i in $(seq 50); do [ -s from-tmux ] && break; sleep 0.1; done; cat from-tmux"),
    row("rsync, wget-like downloads, a log that turns", &["rsync", "gzip"], "mkdir src && seq 99 > src/a && rsync -a src/ dst/ && seq 98 > src/a && rsync -ac --delete src/ dst/ && cat dst/a | tail -n 1; for i in 1 2 3; do echo l >> .app.log; done; mv .app.log .app.log.1; gzip -n .app.log.1; echo part > f.part; mv f.part f; ls -A"),
    Row { weight: Weight::Extra, ..row("mvn -v, first run", &["mvn"], "mvn -v && ls -A") },
    Row {
        homes: &[Kind::Fresh], ignore: &["pg/"], weight: Weight::Extra,
        ..row("Postgres in ~/pg", &["initdb", "pg_ctl", "postgres"], "[ $(id -u) = 0 ] && exit; initdb -N -D ~/pg -A trust >/dev/null 2>&1 && pg_ctl -D ~/pg -o \"-k $HOME/pg -c listen_addresses=\" -l ~/pg/log -w start >/dev/null && pg_ctl -D ~/pg -m fast -w stop >/dev/null && ls ~/pg && rm -r ~/pg")
    },
    Row {
        homes: &[Kind::Fresh], ignore: &[".config/chromium", ".cache", ".pki"], weight: Weight::Extra,
        ..row("Chromium loads a page without a window", &["chromium"], "echo '<body><script>document.body.textContent=6*7</script>' > a.html; chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --dump-dom file://$HOME/a.html 2>/dev/null; ls -A")
    },
];
