package check

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/lacuna-seq/lacuna/workflows"
	"github.com/stretchr/testify/require"
)

const composeFile = "../compose/compose.yaml"

// ours are the services that run this repository's images, and the programs in them.
var ours = map[string]string{"starter": "starter", "worker": "worker", "migrate": "lacuna"}

// load reads the Compose file as Compose does, with an environment instead of .env.
func load(t *testing.T, environment []string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{composeFile}, cli.WithEnv(environment), cli.WithResolvedPaths(true))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

// project is the Compose file with .env.example filled in.
func project(t *testing.T) *types.Project {
	t.Helper()
	var environment []string
	for name, value := range example(t) {
		if strings.HasSuffix(name, "PASSWORD") {
			value = "secret-of-" + name
		}
		environment = append(environment, name+"="+value)
	}
	p, err := load(t, environment)
	require.NoError(t, err)
	return p
}

// example reads .env.example.
func example(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../compose/.env.example")
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			found[name] = value
		}
	}
	return found
}

func TestComposeGivesEveryProgramTheSettingsThatItNeeds(t *testing.T) {
	for service, program := range ours {
		t.Run(service, func(t *testing.T) {
			environment := map[string]string{}
			for name, value := range project(t).Services[service].Environment {
				environment[name] = *value
			}
			requireSettings(t, program, environment)
		})
	}
}

func TestComposeHasNoPasswordOfItsOwn(t *testing.T) {
	known := example(t)
	text, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`\$\{(\w+)|\{environment: (\w+)\}`).FindAllStringSubmatch(string(text), -1) {
		used[match[1]+match[2]] = true
	}
	for name := range used {
		require.Contains(t, known, name, ".env.example does not speak of it")
	}
	for name, value := range known {
		require.True(t, used[name], "%s of .env.example is not used", name)
		if strings.HasSuffix(name, "PASSWORD") {
			require.Empty(t, value, "%s has a default", name)
		}
	}
	_, err = load(t, nil)
	require.ErrorContains(t, err, ".env.example", "without passwords it says where they belong")
}

func TestComposeRunsPinnedImages(t *testing.T) {
	all := stages(t)
	for name, s := range project(t).Services {
		if _, mine := ours[name]; mine {
			require.FileExists(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
			require.Equal(t, ours[name], s.Build.Target)
			require.Contains(t, all, s.Build.Target)
			continue
		}
		require.Regexp(t, `:v?\d+\.\d+`, s.Image, "%s is not pinned", name)
	}
	require.Regexp(t, `:1\.29\.`, project(t).Services["temporal"].Image, "an older server does not cut a start delay short")
}

func TestComposeStartsInOrder(t *testing.T) {
	services := project(t).Services
	for _, name := range []string{"starter", "worker"} {
		require.Equal(t, types.ServiceConditionCompletedSuccessfully, services[name].DependsOn["migrate"].Condition)
		require.Equal(t, types.ServiceConditionCompletedSuccessfully, services[name].DependsOn["temporal-setup"].Condition)
		require.Equal(t, 2, *services[name].Deploy.Replicas)
	}
	require.Equal(t, types.ServiceConditionHealthy, services["migrate"].DependsOn["mysql"].Condition)
	require.Equal(t, types.ShellCommand{"migrate", "up"}, services["migrate"].Command)
	for _, s := range services {
		for other, dependency := range s.DependsOn {
			if dependency.Condition == types.ServiceConditionHealthy {
				require.NotNil(t, services[other].HealthCheck, "%s waits for the health of %s", s.Name, other)
			}
		}
	}
	addsAttributes(t, strings.Join(services["temporal-setup"].Command, "\n"))
}

func TestTheSearchAttributesOfACluster(t *testing.T) {
	text, err := os.ReadFile("../../docs/deployment.md")
	require.NoError(t, err)
	addsAttributes(t, string(text))
}

// addsAttributes sees that a command gives each search attribute a type: Temporal's command line adds as many names
// as it has types, and says that it added all.
func addsAttributes(t *testing.T, text string) {
	t.Helper()
	oneLine := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", " ")), " ")
	require.Contains(t, oneLine, "temporal operator search-attribute create")
	for _, attribute := range workflows.SearchAttributes() {
		require.Contains(t, oneLine, "--type Keyword --name "+attribute)
	}
}

func TestComposeSetsTheServersAsLacunaWantsThem(t *testing.T) {
	services := project(t).Services
	mysql := strings.Join(services["mysql"].Command, " ")
	for _, setting := range []string{
		"--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--auto-increment-increment=1",
	} {
		require.Contains(t, mysql, setting)
	}
	redis := strings.Join(services["redis"].Command, " ")
	require.Contains(t, redis, "--appendonly yes")
	require.Contains(t, redis, "--maxmemory-policy noeviction")
}

func TestComposePublishesOnLoopbackOnly(t *testing.T) {
	for name, s := range project(t).Services {
		for _, port := range s.Ports {
			require.True(t, net.ParseIP(port.HostIP).IsLoopback(), "%s publishes %s on %q", name, port.Published, port.HostIP)
		}
	}
}

func TestComposeLetsTheProgramsStopAndNoMore(t *testing.T) {
	for _, name := range []string{"starter", "worker"} {
		s := project(t).Services[name]
		require.GreaterOrEqual(t, time.Duration(*s.StopGracePeriod), longestStop)
		require.True(t, s.ReadOnly)
		require.Equal(t, []string{"ALL"}, s.CapDrop)
		require.Empty(t, s.Volumes, "nothing of ours is kept outside of the servers")
	}
}

// longestStop is the worker's: 15 s for the activities of each of its queues, and 2 s for the last of the telemetry.
const longestStop = 32 * time.Second

func TestComposeMountsWhatExists(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		for _, volume := range s.Volumes {
			if volume.Type == types.VolumeTypeBind {
				_, err := os.Stat(volume.Source)
				require.NoError(t, err, "%s mounts it", name)
				require.True(t, volume.ReadOnly, "%s could change %s", name, volume.Source)
			}
		}
	}
	require.ElementsMatch(t, []string{"grafana", "mysql", "postgres", "prometheus", "redis"}, slices.Collect(maps.Keys(p.Volumes)), "all data is in volumes with names")
}

func TestTheProxyAsksTheStartersForTheirReadiness(t *testing.T) {
	text, err := os.ReadFile("../compose/haproxy.cfg")
	require.NoError(t, err)
	require.Contains(t, string(text), "option httpchk GET /readyz")
	require.Contains(t, string(text), "starter:8080")
	require.Contains(t, string(text), "check port 8081")
}
