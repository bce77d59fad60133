package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// verifyCommand asks whether sealed numbers are still what their seals say.
type verifyCommand struct {
	api
	BizType string `arg:"" optional:"" name:"biztype" help:"The biz type; all where none is named."`
	Anchor  string `placeholder:"number:hash" help:"An entry of the chain that was kept elsewhere, as an earlier run wrote it: a chain that was written anew does not have it."`
	Output  string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written, text is another word for table; csv has the chains and not the faults."`
}

// Run writes what the chains consist of and what is wrong with them. Faults end it with errFindings.
func (c verifyCommand) Run(ctx context.Context, out io.Writer) error {
	request := &lacunav1.VerifySealsRequest{BizType: c.BizType}
	if c.Anchor != "" {
		number, hash, _ := strings.Cut(c.Anchor, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || hash == "" {
			return errors.New("--anchor is not of the form number:hash, e.g. 17:9f86d0…")
		}
		request.AnchorNumber, request.AnchorHash = n, hash
	}
	response, err := c.operator().VerifySeals(ctx, connect.NewRequest(request))
	if err != nil {
		return fmt.Errorf("verify the seals: %w", err)
	}
	if err := c.print(out, response.Msg); err != nil {
		return err
	}
	if !response.Msg.GetClean() {
		return errFindings
	}
	return nil
}

func (c verifyCommand) print(out io.Writer, v *lacunav1.VerifySealsResponse) error {
	if c.Output == "json" {
		text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(v)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
		return nil
	}
	if c.Output == "csv" {
		return writeAll(out, output{c.Output}, chainColumns, v.GetChains())
	}
	fmt.Fprintf(out, "as of %s\n\n", v.GetTime().AsTime().Format(time.RFC3339Nano))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "biz type\tseals\tvalues\tamendments\tlast entry (--anchor)\tof\t")
	for _, chain := range v.GetChains() {
		anchor, sealed := "-", "-"
		if chain.GetNumber() > 0 {
			anchor, sealed = fmt.Sprintf("%d:%s", chain.GetNumber(), chain.GetHash()), chain.GetSealedTime().AsTime().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\t\n", chain.GetBizType(), chain.GetSeals(), chain.GetValues(), chain.GetAmendments(), anchor, sealed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if v.GetClean() {
		fmt.Fprintln(out, "every sealed number is what its seal says")
		return nil
	}
	fmt.Fprintf(out, "%s:\n", counted(int64(len(v.GetFaults()))+v.GetFaultsLeft(), "fault"))
	for _, f := range v.GetFaults() {
		fmt.Fprintf(out, "  %s\n", sealFaultLine(f))
	}
	if left := v.GetFaultsLeft(); left > 0 {
		fmt.Fprintf(out, "  and %d more\n", left)
	}
	return nil
}

// chainColumns are those of CSV.
var chainColumns = []column[*lacunav1.SealChain]{
	{"biz type", (*lacunav1.SealChain).GetBizType},
	{"seals", func(c *lacunav1.SealChain) string { return strconv.FormatInt(c.GetSeals(), 10) }},
	{"values", func(c *lacunav1.SealChain) string { return strconv.FormatInt(c.GetValues(), 10) }},
	{"amendments", func(c *lacunav1.SealChain) string { return strconv.FormatInt(c.GetAmendments(), 10) }},
	{"number", func(c *lacunav1.SealChain) string { return strconv.FormatInt(c.GetNumber(), 10) }},
	{"hash", (*lacunav1.SealChain).GetHash},
	{"sealed", func(c *lacunav1.SealChain) string { return stamp(c.GetSealedTime()) }},
}

func sealFaultLine(f *lacunav1.SealFault) string {
	entry := ""
	if f.GetNumber() > 0 {
		entry = fmt.Sprintf(" entry %d,", f.GetNumber())
	}
	return fmt.Sprintf("%s:%s values %d to %d: %s: %s; expected %s, found %s", numbering(f.GetBizType(), f.GetPeriod()), entry, f.GetLo(), f.GetHi(),
		strings.TrimPrefix(f.GetKind().String(), "SEAL_FAULT_KIND_"), f.GetWords(), f.GetExpected(), f.GetFound())
}
