// Package browser gives tests a real browser: Debian's Chromium, one for each test process, started on first use and
// gone with the process. Each test has tabs of its own, with their own cookies.
//
// tab.go drives a tab, view.go looks at a page as different people see it, axe.go asks axe-core for what keeps people
// out. It is a package of its own since what drives a browser is large, and few tests need it.
package browser
