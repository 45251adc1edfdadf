// hurt-go WHAT PATH: damage from a static Go program, which makes its system calls without the C library.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

func main() {
	var err error
	switch os.Args[1] {
	case "removeall":
		err = os.RemoveAll(os.Args[2])
	case "truncate":
		err = os.Truncate(os.Args[2], 0)
	case "writefile":
		err = os.WriteFile(os.Args[2], []byte("go\n"), 0o600)
	case "attacks":
		attacks(os.Args[2] + "/")
	case "work": // what a build does, in a folder that may be written: used by the tests of transparency
		dir := os.Args[2]
		must(os.MkdirAll(dir+"/a/b/c", 0o755))
		done := make(chan error)
		for n := 0; n < 16; n++ {
			go func(n int) {
				name := fmt.Sprintf("%s/a/b/c/%d", dir, n)
				for i := 0; i < 20; i++ {
					if err := os.WriteFile(name+".tmp", []byte(fmt.Sprint(n)), 0o640); err != nil {
						done <- err
						return
					}
					if err := os.Rename(name+".tmp", name); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}(n)
		}
		for n := 0; n < 16; n++ {
			must(<-done)
		}
		must(os.Chmod(dir+"/a/b/c/3", 0o400))
		must(os.Symlink("c/3", dir+"/a/b/l"))
		must(os.RemoveAll(dir + "/a/b/c/7"))
		must(os.Rename(dir+"/a/b", dir+"/d"))
	case "once": // calls that go wrong when they are made twice, while the scheduler interrupts its threads all the time
		rounds, _ := strconv.Atoi(os.Args[3])
		os.Exit(once(os.Args[2], rounds))
	}
	must(err)
}

// once makes, renames, links and removes entries with names of their own in dir, from many goroutines.
func once(dir string, rounds int) int {
	var wrong, over atomic.Int32
	for n := 0; n < 2; n++ {
		go func() { // keeps the scheduler and the collector busy, and so the signals coming
			for over.Load() == 0 {
				_ = make([]byte, 1<<16)
				runtime.Gosched()
			}
		}()
	}
	var all sync.WaitGroup
	for n := 0; n < 16; n++ {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			for i := 0; i < rounds; i++ {
				top := fmt.Sprintf("%s/go%d-%d", dir, n, i)
				for _, err := range []error{
					os.Mkdir(top, 0o700), create(top + "/f"), os.Link(top+"/f", top+"/g"), os.Rename(top+"/g", top+"/h"),
					os.Symlink("f", top+"/s"), os.Chmod(top+"/f", 0o640), os.Truncate(top+"/f", 5), os.Remove(top + "/s"),
					os.Remove(top + "/h"), os.Remove(top + "/f"), os.Remove(top),
				} {
					if err != nil {
						wrong.Add(1)
						fmt.Fprintln(os.Stderr, "hurt-go:", err)
					}
				}
			}
		}(n)
	}
	all.Wait()
	over.Store(1)
	fmt.Printf("%d wrong\n", wrong.Load())
	if wrong.Load() != 0 {
		return 1
	}
	return 0
}

func create(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = file.Close()
	}
	return err
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hurt-go:", err)
		os.Exit(1)
	}
}

// The attacks of context.c on a home, by the raw calls.
func attacks(home string) {
	path := func(name string) uintptr { return text(home + name) }
	const cwd = ^uintptr(99)
	agent := ".pi/agent/"
	worked := 0
	for _, call := range [][6]uintptr{
		{syscall.SYS_UNLINKAT, cwd, path(agent + "models-store.json")},
		{syscall.SYS_RENAMEAT, cwd, path(".local/share"), cwd, path(".local/moved")},
		{syscall.SYS_OPENAT, cwd, path(agent + "auth.json"), syscall.O_WRONLY | syscall.O_TRUNC},
		{syscall.SYS_FCHMODAT, cwd, path(agent + "settings.json"), 0},
		{syscall.SYS_LINKAT, cwd, path(agent + "sessions/--other--/x.jsonl"), cwd, path("tmp/l"), 0},
		{syscall.SYS_SETXATTR, path(agent + "sessions"), text("user.note"), text("gone"), 4, 0},
		{syscall.SYS_OPENAT, cwd, path(agent + "new"), syscall.O_WRONLY | syscall.O_CREAT | syscall.O_EXCL, 0o600},
		{syscall.SYS_RENAMEAT, cwd, path("plain.txt"), cwd, path(agent + "npm/package.json")},
	} {
		_, _, errno := syscall.Syscall6(call[0], call[1], call[2], call[3], call[4], call[5], 0)
		fmt.Print(int(errno), " ")
		if errno == 0 {
			worked++
		}
	}
	fmt.Println()
	if worked == 0 {
		os.Exit(1)
	}
}

// What calls point to, so that it stays where it is.
var kept []*byte

func text(of string) uintptr {
	bytes, err := syscall.BytePtrFromString(of)
	must(err)
	kept = append(kept, bytes)
	return uintptr(unsafe.Pointer(bytes))
}
