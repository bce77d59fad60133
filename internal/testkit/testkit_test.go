package testkit_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func dial(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(options)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestMariaDB(t *testing.T) {
	t.Run("gives each test an empty database on one server", func(t *testing.T) {
		one, two := open(t, testkit.MariaDB(t)), open(t, testkit.MariaDB(t))
		_, err := one.ExecContext(t.Context(), "CREATE TABLE mine (id INT)")
		require.NoError(t, err)
		var tables int
		require.NoError(t, two.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables))
		require.Zero(t, tables)
		require.Equal(t, variable(t, one, "pid_file"), variable(t, two, "pid_file"))
	})
	t.Run("gives a test that asks for it a server of its own", func(t *testing.T) {
		shared, own := open(t, testkit.MariaDB(t)), open(t, testkit.OwnMariaDB(t).DSN("lacuna"))
		require.NotEqual(t, variable(t, shared, "pid_file"), variable(t, own, "pid_file"))
	})
}

func variable(t *testing.T, db *sql.DB, name string) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT @@"+name).Scan(&value))
	return value
}

func TestRedisGivesEachTestAnEmptyDatabase(t *testing.T) {
	one, two := dial(t, testkit.Redis(t)), dial(t, testkit.Redis(t))
	require.NoError(t, one.Set(t.Context(), "mine", 1, 0).Err())
	require.ErrorIs(t, two.Get(t.Context(), "mine").Err(), redis.Nil)
}

func TestTemporalIsOneServerPerProcess(t *testing.T) {
	require.Equal(t, testkit.Temporal(t), testkit.Temporal(t))
}

// A test process that is killed cannot clean up: its servers end with it, and the next test process
// removes its folder.
func TestNothingOutlivesATestProcessThatIsKilled(t *testing.T) {
	if os.Getenv("TESTKIT_VICTIM") != "" {
		folder := variable(t, open(t, testkit.MariaDB(t)), "datadir")
		testkit.Redis(t)
		testkit.Temporal(t)
		fmt.Println("victim", filepath.Join(folder, "..", ".."))
		<-context.Background().Done() // until it is killed
	}
	victim := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	victim.Env = append(os.Environ(), "TESTKIT_VICTIM=1", "TMPDIR="+t.TempDir())
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	var folder string
	for lines := bufio.NewScanner(out); folder == "" && lines.Scan(); {
		_, folder, _ = strings.Cut(lines.Text(), "victim ")
	}
	require.NotEmpty(t, folder, "the victim did not start its servers")
	servers := children(t, victim.Process.Pid)
	require.Len(t, servers, 3)

	require.NoError(t, victim.Process.Kill())
	require.ErrorContains(t, victim.Wait(), "killed")
	for _, pid := range servers {
		testkit.Eventually(t, func() bool { return ended(pid) }, "server %d lives", pid)
	}
	require.DirExists(t, folder)
	next := exec.Command(os.Args[0], "-test.run", "^$")
	next.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(folder))
	require.NoError(t, next.Run())
	require.NoDirExists(t, folder)
}

// ended reports whether a process has; nobody need have waited for it.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// children are the processes that a process started.
func children(t *testing.T, parent int) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	require.NoError(t, err)
	if len(tasks) == 0 {
		t.Skip("this system does not tell a process's children")
	}
	for _, task := range tasks {
		list, err := os.ReadFile(task)
		require.NoError(t, err)
		for _, field := range strings.Fields(string(list)) {
			var pid int
			_, err := fmt.Sscan(field, &pid)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestMariaDBRefusesAWrongPassword(t *testing.T) {
	config, err := mysql.ParseDSN(testkit.MariaDB(t))
	require.NoError(t, err)
	config.Passwd = "wrong"
	var refused *mysql.MySQLError
	require.ErrorAs(t, open(t, config.FormatDSN()).PingContext(t.Context()), &refused)
	require.EqualValues(t, 1045, refused.Number)
}
