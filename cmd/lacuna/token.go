package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// tokenCommands make, list and revoke the tokens that callers of the API carry.
type tokenCommands struct {
	Create tokenCreate `cmd:"" help:"Make a token and print its text, which is told this once."`
	List   tokenList   `cmd:"" help:"List the tokens."`
	Revoke tokenRevoke `cmd:"" help:"End a token for good, within 5 s everywhere."`
}

const rolePrefix = "ROLE_"

// writeTokens prints a line for each token.
func writeTokens(out io.Writer, tokens []*lacunav1.Token) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tROLE\tBIZ TYPES\tRATE\tBUDGET\tCREATED\tEXPIRES\tLAST USED\tSTATE")
	for _, t := range tokens {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d/s\t%d/min\t%s by %s\t%s\t%s\t%s\n", t.GetName(), strings.ToLower(strings.TrimPrefix(t.GetRole().String(), rolePrefix)),
			orDash(strings.Join(t.GetBizTypes(), ",")), t.GetRate(), t.GetAbandonBudget(), when(t.GetCreatedTime()), orDash(t.GetCreatedBy()),
			when(t.GetExpireTime()), when(t.GetLastUsedTime()), stateOf(t))
	}
	return table.Flush()
}

// tokenColumns are those of CSV.
var tokenColumns = []column[*lacunav1.Token]{
	{"name", (*lacunav1.Token).GetName},
	{"role", func(t *lacunav1.Token) string {
		return strings.ToLower(strings.TrimPrefix(t.GetRole().String(), rolePrefix))
	}},
	{"biz types", func(t *lacunav1.Token) string { return strings.Join(t.GetBizTypes(), " ") }},
	{"rate", func(t *lacunav1.Token) string { return fmt.Sprint(t.GetRate()) }},
	{"abandon budget", func(t *lacunav1.Token) string { return fmt.Sprint(t.GetAbandonBudget()) }},
	{"created", func(t *lacunav1.Token) string { return stamp(t.GetCreatedTime()) }},
	{"created by", (*lacunav1.Token).GetCreatedBy},
	{"expires", func(t *lacunav1.Token) string { return stamp(t.GetExpireTime()) }},
	{"last used", func(t *lacunav1.Token) string { return stamp(t.GetLastUsedTime()) }},
	{"state", stateOf},
}

func stateOf(t *lacunav1.Token) string {
	switch {
	case t.GetRevokedTime() != nil:
		return fmt.Sprintf("revoked %s by %s", when(t.GetRevokedTime()), orDash(t.GetRevokedBy()))
	case t.GetExpireTime() != nil && t.GetExpireTime().AsTime().Before(time.Now()):
		return "expired"
	}
	return "valid"
}

func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format("2006-01-02T15:04Z")
}
