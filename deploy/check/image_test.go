package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/require"
)

// root is the repository's.
const root = "../.."

// stages reads the Dockerfile as BuildKit does.
func stages(t *testing.T) map[string]instructions.Stage {
	t.Helper()
	file, err := os.Open("../images/Dockerfile")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // it was read
	parsed, err := parser.Parse(file)
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	list, _, err := instructions.Parse(parsed.AST, nil)
	require.NoError(t, err)
	named := map[string]instructions.Stage{}
	for _, s := range list {
		require.NotEmpty(t, s.Name, "%s has no name", s.OrigCmd)
		named[s.Name] = s
	}
	return named
}

// commands are those of one kind in a stage.
func commands[C instructions.Command](s instructions.Stage) (found []C) {
	for _, c := range s.Commands {
		if c, ok := c.(C); ok {
			found = append(found, c)
		}
	}
	return found
}

func TestTheImagesAreBuiltOfTheProgramsThatExist(t *testing.T) {
	all := stages(t)
	build := strings.Join(strings.Fields(source(all["build"])), " ")
	require.Contains(t, build, "CGO_ENABLED=0")
	require.Contains(t, build, "-trimpath")
	for program, folder := range map[string]string{"starter": "starter", "worker": "worker", "lacuna": "cmd/lacuna"} {
		require.FileExists(t, filepath.Join(root, folder, "main.go"))
		require.Contains(t, build, "./"+folder)
		stage, ok := all[program]
		require.True(t, ok, "no target %s", program)
		require.Equal(t, "base", stage.BaseName)
		copied := commands[*instructions.CopyCommand](stage)
		require.Len(t, copied, 1, "one binary an image")
		require.Equal(t, "build", copied[0].From)
		require.Equal(t, []string{"/out/" + program}, copied[0].SourcePaths)
		entry := commands[*instructions.EntrypointCommand](stage)
		require.Len(t, entry, 1)
		require.False(t, entry[0].PrependShell, "there is no shell")
		require.Equal(t, []string{copied[0].DestPath}, entry[0].CmdLine)
	}
}

func TestTheImagesRunAsNobodyOnAPinnedBase(t *testing.T) {
	base := stages(t)["base"]
	require.Regexp(t, `^gcr\.io/distroless/static-debian12:nonroot@sha256:[0-9a-f]{64}$`, base.BaseName)
	user := commands[*instructions.UserCommand](base)
	require.Len(t, user, 1)
	require.Equal(t, "65532:65532", user[0].User, "a number, since Kubernetes cannot tell that a name is not root")
	require.Empty(t, commands[*instructions.RunCommand](base), "there is no shell")
	for name, s := range stages(t) {
		require.Empty(t, commands[*instructions.HealthCheckCommand](s), "%s: whoever runs it asks the ops port", name)
	}
}

func TestTheImagesAreBuiltByAGoThatIsNewEnough(t *testing.T) {
	version := regexp.MustCompile(`^golang:(\d+\.\d+)\.\d+-bookworm$`).FindStringSubmatch(stages(t)["build"].BaseName)
	require.NotNil(t, version, "the builder is not pinned to a release")
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(module), "\ngo "+version[1]+".", "the builder's Go is another than go.mod's")
}

func TestTheImagesExposeThePortsThatTheProgramsListenOn(t *testing.T) {
	for program, ports := range map[string][]string{"starter": {"8080", "8081"}, "worker": {"8082"}} {
		exposed := commands[*instructions.ExposeCommand](stages(t)[program])
		require.Len(t, exposed, 1)
		require.Equal(t, ports, exposed[0].Ports)
	}
}

func source(s instructions.Stage) string {
	var lines []string
	for _, c := range s.Commands {
		if c, ok := c.(interface{ String() string }); ok {
			lines = append(lines, c.String())
		}
	}
	return strings.Join(lines, "\n")
}

// A tree that lacks files of the commit is built "with changes".
func TestTheBuildSeesEveryFileOfTheCommit(t *testing.T) {
	text, err := os.ReadFile("../images/Dockerfile.dockerignore")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		known, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", ":(glob)"+line, ":(glob)"+line+"/**").Output()
		require.NoError(t, err)
		require.Empty(t, string(known), line)
	}
}
