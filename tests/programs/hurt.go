// hurt-go WHAT PATH: damage from a static Go program, which makes its system calls without the C library.
package main

import (
	"fmt"
	"os"
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
	}
	must(err)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hurt-go:", err)
		os.Exit(1)
	}
}
