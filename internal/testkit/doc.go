// Package testkit gives tests real servers: MariaDB, Redis and Temporal, one of each per test
// process, started on first use and gone with the process, however it ends.
//
// MariaDB, Redis and Temporal share one server among the tests of a process and give each test a
// database of its own. OwnMariaDB, OwnRedis and OwnTemporal start a server for one test to kill,
// pause and restart. Proxy stands between a client and a server and loses what it is told to. What
// a server logged is shown with the test that failed on it.
//
// A test package calls Main from its TestMain.
package testkit
