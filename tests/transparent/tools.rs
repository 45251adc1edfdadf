//! Real programs, one row a script.

use super::twice::{Row, row, table};

#[test]
#[rustfmt::skip] // one row a line
fn shell() {
    table(
        "shell",
        &[
            row("touch", &[], "touch ~/new && touch -d 2001-02-03T04:05:06 ~/new2 && touch -r ~/new2 ~/new3"),
            row("mkdir -p and a file", &[], "mkdir -p ~/a/b && echo x > ~/a/b/c && echo y >> ~/a/b/c && cat ~/a/b/c"),
            row("mv and rm -r of a new folder", &[], "mkdir -p ~/a/b && echo x > ~/a/b/c && mv ~/a ~/d && ls -R ~/d && rm -r ~/d"),
            row("mv of what was there", &[], "mv ~/plain.txt ~/p && mv ~/p ~/tmp/ && mv ~/tmp/plain.txt ~/q 2>&1; mv ~/tmp/p ~/q"),
            row("mv of a folder that was there", &[], "mv ~/tmp ~/t2 && mkdir ~/t2/x && echo y > ~/t2/x/y && mv ~/t2 $O/t3"),
            row("mv between home and outside", &[], "mkdir ~/a && echo x > ~/a/b && mv ~/a $O/ && echo y > $O/a/c && mv $O/a ~/back && rm $HOME/back/b"),
            row("rm -rf of everything new", &[], "mkdir -p ~/n/{a,b,c}/{d,e} && touch ~/n/{a,b,c}/{d,e}/f && rm -rf ~/n && ls -A ~"),
            row("redirections of all kinds", &[], "cd ~; echo a > f; echo b >> f; cat < f > g; exec 5<>f; read l <&5; echo $l >&5; cat f; set -C; echo no > f; echo $?; echo yes >| f; cat <<<here; cat <(echo sub) > h; echo t | tee i j"),
            row("umask 077", &[], "umask 077; cd ~; touch a; mkdir b; mkfifo c; cp /etc/hostname d; ln -s a e; stat -c '%a %n' a b c d"),
            row("umask 002", &[], "umask 002; cd ~; touch a; mkdir b; mkfifo c; cp /etc/hostname d; stat -c '%a %n' a b c d"),
            row("umask 0", &[], "umask 0; cd ~; touch a; mkdir -m 1777 b; mkdir -m 2755 c; install -d -m 700 d/e; install -m 4711 /etc/hostname f; stat -c '%a %n' a b c d d/e f"),
            row("chmod, in words", &[], "cd ~; mkdir -p a/b; touch a/b/c; chmod -R u=rwX,go= a; chmod +x a/b/c; chmod u-w a/b/c; echo x 2>/dev/null >> a/b/c; echo $?"),
            row("chown", &["root"], "cd ~; mkdir -p a/b; touch a/b/c; ln -s c a/b/l; chown -R 12345:54321 a; chown -h 7:8 a/b/l; chgrp 9 a/b/c"),
            row("hard links", &[], "cd ~; echo x > a; ln a b; ln b $T/c; ln $T/c d; echo y >> d; cat a; stat -c %h a; rm a b; stat -c %h $T/c"),
            row("hard link of what was there", &[], "ln ~/plain.txt ~/l && ln ~/plain.txt $T/l && ln ~/plain.txt $O/l && echo x >> ~/l && cat $O/l"),
            row("symbolic links", &[], "cd ~; ln -s tmp l; ln -sfn plain.txt l; ln -sf nowhere m; cat l; readlink -f l; echo x > m; cat nowhere; rm l m"),
            row("FIFOs", &[], "mkfifo ~/f; (echo one; echo two) > ~/f & cat ~/f; wait; mkfifo -m 600 $T/g; cat $T/g & echo three > $T/g; wait; rm ~/f"),
            row("a FIFO with nobody at the other end, interrupted, fails", &["timeout"], "mkfifo ~/f; timeout 0.5 bash -c 'echo x > ~/f'; a=$?; timeout 0.5 cat ~/f; echo $a $?; exit 3"),
            row("sparse files", &[], "truncate -s 100M ~/big; echo x >> ~/big; stat -c '%s' ~/big; [ $(stat -c %b ~/big) -lt 100 ] && echo sparse; truncate -s 3 ~/big"),
            row("dd", &[], "cd ~; dd if=/dev/zero of=z bs=1k count=8 status=none; dd if=/dev/zero of=z bs=1 seek=3 count=1 conv=notrunc status=none; dd if=z of=y oflag=append conv=notrunc status=none; stat -c %s z y"),
            row("mktemp", &[], "f=$(mktemp -p ~) && d=$(mktemp -d -p ~) && stat -c '%a %F' $f $d && rm $f && rmdir $d; mktemp >/dev/null && ls -A $T | wc -l; rm -f $T/tmp.*"),
            row("cp -a", &[], "cp -a $T ~/t && cp -a ~/.pi/agent ~/copy && cp -al ~/copy ~/copy2 && cp -r --preserve=all ~/copy $O/copy"),
            row("sed -i and an atomic save", &[], "cd ~; sed -i s/plain/fancy/ plain.txt; cat plain.txt; echo new > .x.tmp && mv .x.tmp plain.txt; cat plain.txt"),
            row("install and sort -o", &[], "cd ~; printf 'b\\na\\n' > s; sort -o s s; cat s; install -D -m 640 s x/y/z; stat -c %a x/y/z"),
            row("names of all kinds", &[], "cd ~; touch -- -dash ' space ' $'new\\nline' ünïcode \"quote'\" '*'; mkdir -p ...; touch .../..x; ls -A | od -c | head -20; rm -- -dash '*'"),
            row("deep folders", &[], "cd ~; p=.; for i in $(seq 40); do p=$p/level$i; done; mkdir -p $p; echo deep > $p/f; cat $p/f; rm -r level1"),
            row("many at once", &["xargs"], "cd ~; seq 200 | xargs -P 8 -I{} sh -c 'mkdir m{} && echo {} > m{}/f && mv m{} n{} && echo x >> n{}/f'; ls -d n* | wc -l; cat n*/f | wc -l; rm -r n*"),
            row("a working folder that goes away", &[], "mkdir ~/w; cd ~/w; rmdir ~/w; touch x 2>&1; mkdir y 2>&1; cd ~; mkdir w; cd w; mv ~/w ~/v; touch x; ls ~/v"),
            row("devices", &[], "echo x > /dev/null; echo y > /dev/full; echo $?; echo z > /dev/stdout; echo e 2>/dev/null > /dev/stderr; echo q > /proc/self/fd/1; echo r > /dev/fd/1; dd if=/dev/urandom of=/dev/null bs=1k count=1 status=none; head -c 3 /dev/zero | od -c; : > /dev/tty; echo $?"),
            row("files of /proc", &[], "echo name > /proc/self/comm; cat /proc/$$/comm; cat /proc/self/comm; echo 500 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj"),
            row("errors that stay errors", &[], "cd ~; mkdir d; touch d/f; rmdir d 2>&1; mkdir d 2>&1; rm d 2>&1; touch d/f/g 2>&1; ln -s loop loop; cat loop 2>&1; echo x > loop 2>&1; mv d d/e 2>&1; rm none 2>&1; cp none x 2>&1; echo x > none/y 2>&1; ln plain.txt d/f 2>&1; ln d e 2>&1; touch \"$(printf 'n%.0s' {1..300})\" 2>&1 | wc -c; exit 0"),
            row("what others own, fails", &[], "touch /etc/guard-test 2>&1 </dev/null && rm /etc/guard-test; mkdir /proc/x 2>&1; echo x > /proc/version 2>&1; rm /proc/version 2>&1; exit 3"),
            row("setfattr", &["setfattr"], "cd ~; touch a; mkdir b; setfattr -n user.x -v 1 a b plain.txt; setfattr -n user.y -v 2 a; setfattr -x user.y a; getfattr -d a b plain.txt"),
            row("setfacl", &["setfacl"], "cd ~; touch a; mkdir b; setfacl -m u:12345:rw a; setfacl -d -m g:12345:rx b; touch b/c; mkdir b/d; getfacl -n a b b/c b/d; setfacl -b a"),
            row("chattr", &["chattr"], "cd ~; touch a; mkdir b; chattr +d a b; lsattr -d a b | cut -c1-20; chattr -d a"),
            row("flock", &["flock"], "cd ~; flock lock -c 'echo held'; (flock 9; echo in) 9> lock2; flock -n tmp true; echo $?"),
            row("rsync", &["rsync"], "cd ~; mkdir -p a/b; echo x > a/b/c; touch -d 2001-01-01 a/b/c; ln -s c a/b/l; chmod 750 a/b; rsync -a a/ $O/a/; rsync -aH $O/a/ b/; rm a/b/c; rsync -a --delete a/ b/; ls -R b"),
            row("threads that make and remove the same things", &["python3"], "cd ~ && python3 - <<'E'\nimport os,threading,fcntl\ndef work(b,r):\n    b.wait()\n    for n in range(40):\n        try: os.makedirs(f'm{r}/a{n}/b/c/d',exist_ok=True)\n        except FileExistsError: pass\n        try: os.unlink(f'lock{n%3}')\n        except FileNotFoundError: pass\n        os.close(os.open(f'lock{n%3}',os.O_RDONLY|os.O_CREAT))\n        try: os.close(os.open(f'excl{n%3}',os.O_WRONLY|os.O_CREAT|os.O_EXCL)); os.unlink(f'excl{n%3}')\n        except (FileExistsError,FileNotFoundError): pass\n        try: os.rename(f'lock{n%3}',f'moved{n%3}')\n        except FileNotFoundError: pass\nfor r in range(5):\n    b=threading.Barrier(6); ts=[threading.Thread(target=work,args=(b,r)) for _ in range(6)]\n    [t.start() for t in ts]; [t.join() for t in ts]\nprint('done')\nE\nrm -rf m* lock* moved* excl*"),
            row("root that becomes another user", &["root", "setpriv"], "cd ~; mkdir -m 1777 made $T/was; for d in made $T/was; do setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \"cd $d; echo x > a; chmod 640 a; mkdir b; mv a b; touch -d 2001-01-01 b/a; ln -s b l; chmod 700 . 2>&1; stat -c '%U %G %a %n' b b/a; touch /nonexistent/x 2>&1\"; done; python3 -c 'import os,socket; os.setegid(65534); os.seteuid(65534); os.chdir(\"made\"); s=socket.socket(socket.AF_UNIX); s.bind(\"s\"); os.chmod(\"s\",0o600); print(s.getsockname())'"),
            row("owners in a user namespace", &["unshare", "python3"], "cd ~; touch a; unshare -Ur sh -c 'touch b; chown 0:0 a b; echo $?; chown 1:1 a 2>&1; stat -c \"%u %g\" a b' || echo none"),
            row("a block device that may not be made anyway, fails", &["setpriv"], "cd ~; setpriv --bounding-set=-mknod --inh-caps=-mknod true 2>/dev/null && exec setpriv --bounding-set=-mknod mknod b b 7 0 2>&1; exec mknod b b 7 0 2>&1"),
            row("a fork bomb's little sister", &[], "for i in $(seq 100); do (echo $i > ~/n$i; rm ~/n$i) & done; wait; ls ~ | wc -l"),
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn archives() {
    const MAKE: &str = "cd $O && mkdir -p s/dir/ro && echo x > s/dir/f && ln s/dir/f s/dir/hard && ln -s f s/dir/l && mkfifo s/p && \
        echo r > s/dir/ro/r && chmod 400 s/dir/ro/r && chmod 555 s/dir/ro && chmod 4711 s/dir/f && touch -h -d 2001-01-01T01:02:03.123456789 s/dir/l && \
        touch -d 1999-09-09T09:09:09.987654321 s/dir/ro s/dir s && tar --format=pax -cf a.tar s && chmod -R u+w s && rm -rf s";
    table(
        "archives",
        &[
            Row { before: MAKE, loose: &[".tar"], ..row("tar x with modes and times, in home", &["tar"], "cd ~ && tar xpf $O/a.tar && find s | sort") },
            Row { before: MAKE, loose: &[".tar"], ..row("tar x in a new folder", &["tar"], "mkdir -p ~/n/m && cd ~/n/m && tar xf $O/a.tar && tar cf ../b.tar s && tar tf ../b.tar | sort") },
            Row { before: MAKE, loose: &[".tar"], ..row("tar x twice, over itself", &["tar"], "cd ~ && tar xf $O/a.tar && chmod -R u+w s && tar xf $O/a.tar && chmod -R u+w s && tar xf $O/a.tar --overwrite") },
            Row { before: MAKE, loose: &[".tar"], ..row("python's tarfile", &["python3"], "cd ~ && python3 -c 'import tarfile,os; tarfile.open(os.environ[\"O\"]+\"/a.tar\").extractall(\".\", numeric_owner=True)'") },
        ],
    );
}

#[test]
#[rustfmt::skip] // one row a line
fn tools() {
    const REPOSITORY: &str =
        "cd $O && git init -q -b main src && cd src && seq 100 > a && mkdir d && echo x > d/x && chmod +x d/x && ln -s a l && git add -A && git commit -qm one && seq 50 >> a && git commit -qam two";
    table(
        "tools",
        &[
            row("git config --global", &["git"], "git config --global user.name Me && git config --global --add a.b c && git config --global --unset a.b && cat ~/.gitconfig && git config --global --list"),
            Row { before: REPOSITORY, loose: &["/index", "index"], ..row("git clone into home", &["git"], "cd ~ && git clone -q $O/src copy && cd copy && git log --format='%H %s' && git status --short") },
            Row {
                before: REPOSITORY,
                loose: &["index", ".pack", ".idx", ".rev"],
                ..row("git's everyday work", &["git"], "cd ~ && git clone -q --no-hardlinks $O/src c && cd c && git checkout -q -b x && echo y > y && git add y && git commit -qm y && git checkout -q main && git merge -q --no-edit x && git rm -q y && git commit -qm rm && git mv a b && git commit -qm mv && git stash list && git gc -q && git worktree add -q ../w x && git worktree remove ../w && git clean -fdx && git log --format='%H %s'")
            },
            Row {
                ignore: &[".npm"],
                ..row("npm init and install of a local package", &["npm", "node"], "mkdir -p ~/dep ~/proj && cd ~/dep && npm init -y >/dev/null && echo 'module.exports=42' > index.js && cd ~/proj && npm init -y && npm install --no-progress ../dep 2>&1 | sed 's/ in [0-9.]*m\\?s$//' && node -p 'require(\"dep\")' && npm pack --silent ../dep && npm install --no-progress ./dep-1.0.0.tgz 2>&1 | sed 's/ in [0-9.]*m\\?s$//' && npm uninstall dep 2>&1 | sed 's/ in [0-9.]*m\\?s$//'")
            },
            Row { loose: &[".pyc"], ..row("python3 -m venv", &["python3"], "python3 -m venv --without-pip ~/v && ~/v/bin/python -c 'import sys; print(sys.prefix)' && cat ~/v/pyvenv.cfg") },
            Row { loose: &[".pyc"], needs: &["python3", "root"], ..row("python3 -m venv with pip", &["python3", "root"], "python3 -m venv ~/v && ~/v/bin/pip --version") },
            Row { loose: &[".db"], ..row("sqlite in WAL mode", &["sqlite3"], "cd ~ && sqlite3 a.db 'pragma journal_mode=wal; create table t(a); insert into t values(1),(2);' && for i in 1 2 3 4; do sqlite3 -cmd '.timeout 5000' a.db \"insert into t values($i)\" & done; wait; sqlite3 a.db 'select count(*) from t; pragma integrity_check; vacuum; pragma journal_mode=delete;'") },
            Row { loose: &[".db"], ..row("sqlite's other journals", &["sqlite3"], "cd ~ && for m in delete truncate persist memory off; do sqlite3 $m.db \"pragma journal_mode=$m; create table t(a); begin; insert into t values(1); commit; select * from t\"; done") },
            row("a UNIX socket server", &["python3"], "cd ~ && python3 - <<'E'\nimport socket,threading,os\ndef serve(path):\n    s=socket.socket(socket.AF_UNIX); s.bind(path); s.listen(); print(s.getsockname())\n    threading.Thread(target=lambda: s.accept()[0].sendall(b'hi '+path.encode()[-4:])).start()\n    c=socket.socket(socket.AF_UNIX); c.connect(path); print(c.recv(99), c.getpeername())\nserve('rel1'); serve(os.path.abspath('abs2')); os.mkdir('d'); serve('d/sub3'); serve('tmp/tmp4'); print(oct(os.stat('rel1').st_mode)); os.unlink('rel1')\ndg=socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); dg.bind('dgram'); print(dg.getsockname())\nab=socket.socket(socket.AF_UNIX); ab.bind('\\0guard-test-%d' % os.getpid()); print('abstract')\nE"),
            row("python's own ways", &["python3"], "cd ~ && python3 - <<'E'\nimport os,shutil,tempfile,pathlib\nwith tempfile.TemporaryDirectory(dir='.') as d: pathlib.Path(d,'x').write_text('x')\nwith tempfile.TemporaryFile(dir='.') as f: f.write(b'x')\nwith tempfile.NamedTemporaryFile(dir='.') as f: f.write(b'x')\nshutil.copytree('.pi/agent','copy',symlinks=True); shutil.move('copy','moved'); shutil.rmtree('moved')\np=pathlib.Path('a/b'); p.mkdir(parents=True); (p/'c').write_text('c'); (p/'c').replace('a/d'); print(sorted(os.listdir('a')))\nfd=os.open('a',os.O_RDONLY); os.mkdir('e',dir_fd=fd); os.rename('d','e/d',src_dir_fd=fd,dst_dir_fd=fd); os.symlink('d','e/l',dir_fd=fd); os.link('e/d','e/h',src_dir_fd=fd,dst_dir_fd=fd); os.utime('e/d',ns=(1,1000000002),dir_fd=fd); os.chmod('e/d',0o604,dir_fd=fd); os.unlink('e/l',dir_fd=fd)\nprint(os.stat('a/e/d').st_nlink, oct(os.stat('a/e/d').st_mode), os.stat('a/e/d').st_mtime_ns)\nos.setxattr('a/e/d','user.k',b'v'); print(os.listxattr('a/e/d')); os.truncate('a/e/d',10); os.removexattr('a/e/d','user.k')\nE"),
            row("python's processes and semaphores", &["python3"], "cd ~ && cat > m.py <<'E'\nfrom multiprocessing import Pool, Lock, shared_memory\nlock=Lock()\ndef f(n):\n    with lock: open('log','a').write('x')\n    return n*n\nif __name__=='__main__':\n    with Pool(4) as p: print(sum(p.map(f,range(100))))\n    s=shared_memory.SharedMemory(create=True,size=99); s.buf[0]=7; s.close(); s.unlink()\n    print(len(open('log').read()))\nE\npython3 m.py"),
            row("node's own ways", &["node"], "cd ~ && node -e 'const d=fs.mkdtempSync(\"t-\");fs.writeFileSync(d+\"/a\",\"x\");fs.appendFileSync(d+\"/a\",\"y\");fs.copyFileSync(d+\"/a\",d+\"/b\");fs.renameSync(d,\"named\");fs.symlinkSync(\"a\",\"named/l\");fs.linkSync(\"named/a\",\"named/h\");fs.chmodSync(\"named/b\",0o600);fs.utimesSync(\"named/b\",1e9,1e9);fs.truncateSync(\"named/h\",1);fs.cpSync(\"named\",\"two\",{recursive:true});fs.rmSync(\"named\",{recursive:true});console.log(fs.readdirSync(\"two\"));fs.mkdirSync(\"x/y/z\",{recursive:true});fs.rmdirSync(\"x/y/z\")'"),
            row("node's promises, io_uring asked for", &["node"], "cd ~ && UV_USE_IO_URING=1 node -e '(async()=>{const f=fs.promises;await f.mkdir(\"p/q\",{recursive:true});await Promise.all([...Array(50).keys()].map(async n=>{await f.writeFile(\"p/q/\"+n,\"x\".repeat(n));await f.rename(\"p/q/\"+n,\"p/q/r\"+n);if(n%2)await f.unlink(\"p/q/r\"+n)}));console.log((await f.readdir(\"p/q\")).length);await f.rm(\"p\",{recursive:true})})()'"),
            row("a static Go program", &["hurt-go"], "exec $B/hurt-go work ~/go-work"),
            row("a 32-bit program", &["cc32"], "cd ~ && $B/hurt32 creat a && $B/hurt32 rename a b && $B/hurt32 mknod c && $B/hurt32 bind s && $B/hurt32 fchmod c && $B/hurt32 unlink c && $B/hurt32 tmpfile-link . d && $B/hurt32 lsetxattr b"),
            row("threads, vfork, spawn, clone", &["hurt"], "cd ~ && for how in vfork clone thread; do touch $how && $B/hurt $how $PWD/$how && ls; done; echo x > s; $B/hurt spawn s; stat -c %s s"),
            row("gcc and make", &["gcc", "make"], "mkdir ~/c && cd ~/c && printf 'int main(void){return 0;}\\n' > m.c && printf 'all: m\\nclean:\\n\\trm -f m m.o\\n' > Makefile && make -s && ./m && make -s clean && gcc -c m.c && ar rcD lib.a m.o && ar t lib.a"),
            Row {
                // The record says that guard could not look.
                before: "mkdir -p ~/.local/state/guard",
                ignore: &[".local"],
                ..row("a program that nobody may look into, in a folder that was there", &["hurt"], "exec $B/hurt undumpable-work $T")
            },
            Row {
                before: "mkdir -p ~/.local/state/guard",
                ignore: &["agent-socket", ".local"],
                ..row("ssh-agent", &["ssh-agent", "ssh-add", "ssh-keygen"], "cd $T && ssh-keygen -q -t ed25519 -N '' -C c -f k && eval $(ssh-agent -a $T/agent-socket) >/dev/null && ssh-add -q k && ssh-add -l | cut -d' ' -f3- && rm k k.pub && ssh-add -D 2>&1 && ssh-agent -k >/dev/null; for n in $(seq 50); do [ -e $T/agent-socket ] || break; sleep 0.1; done; ls $T")
            },
        ],
    );
}
