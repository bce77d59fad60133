// Package buildinfo says what a program was built from, as Go wrote it into the binary.
package buildinfo

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Info is what a program was built from. What the build did not say is empty.
type Info struct {
	Version string // of the module; "(devel)" for a build out of a working tree
	Commit  string
	Time    time.Time // of the commit
	// Changed: the working tree differed from the commit.
	Changed bool
}

// Read reads what stands in this program.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{}
	}
	return of(build)
}

func of(build *debug.BuildInfo) Info {
	i := Info{Version: build.Main.Version}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Time, _ = time.Parse(time.RFC3339, s.Value) // the zero time for one that is not one
		case "vcs.modified":
			i.Changed = s.Value == "true"
		}
	}
	return i
}

// String is version, commit and date on one line.
func (i Info) String() string {
	version, commit, date := i.Version, i.Commit, "date unknown"
	if version == "" {
		version = "version unknown"
	}
	if commit == "" {
		commit = "unknown"
	}
	if i.Changed {
		commit += " with changes"
	}
	if !i.Time.IsZero() {
		date = i.Time.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s, commit %s, %s", version, commit, date)
}
