package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// windowCommand asks for advice on the safety window of a biz type.
type windowCommand struct {
	api
	BizType string          `arg:"" name:"biztype" help:"The biz type."`
	Days    int32           `default:"7" help:"How many days back it looks, today among them, 1 to 35."`
	Windows []time.Duration `placeholder:"15s,60s" help:"The windows to weigh, 1s to 720h; some around the present one where none is named."`
	Output  string          `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written, text is another word for table; csv has the windows and nothing else."`
}

// Run writes the advice. Remarks are no findings: they do not end it with an error.
func (c windowCommand) Run(ctx context.Context, out io.Writer) error {
	request := &lacunav1.AdviseWindowRequest{BizType: c.BizType, Days: c.Days}
	for _, w := range c.Windows {
		request.Windows = append(request.Windows, durationpb.New(w))
	}
	response, err := c.operator().AdviseWindow(ctx, connect.NewRequest(request))
	if err != nil {
		return fmt.Errorf("ask for advice on the window of %s: %w", c.BizType, err)
	}
	if c.Output == "json" {
		text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(response.Msg)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
		return nil
	}
	if c.Output == "csv" {
		return writeAll(out, output{c.Output}, choiceColumns, response.Msg.GetChoices())
	}
	writeAdvice(out, c.BizType, response.Msg)
	return nil
}

// choiceColumns are those of CSV.
var choiceColumns = []column[*lacunav1.WindowChoice]{
	{"window", func(w *lacunav1.WindowChoice) string { return seconds(w.GetWindow()) }},
	{"late after", func(w *lacunav1.WindowChoice) string { return strconv.FormatInt(w.GetLateAfter(), 10) }},
	{"held", func(w *lacunav1.WindowChoice) string { return fmt.Sprintf("%.1f", w.GetHeld()) }},
}

// writeAdvice is for people: how long things took, what each window would have come to, and what follows.
func writeAdvice(out io.Writer, bizType string, a *lacunav1.AdviseWindowResponse) {
	if a.GetSince() == nil {
		fmt.Fprintf(out, "%s: nothing was counted yet\n", bizType)
	} else {
		fmt.Fprintf(out, "%s from %s to %s, confirm timeout %s\n", bizType, a.GetSince().AsTime().Format(time.RFC3339), a.GetUntil().AsTime().Format(time.RFC3339),
			a.GetConfirmTimeout().AsDuration())
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tcount\tp50\tp99\tp99.9\tmax\t")
	for _, row := range []struct {
		name string
		of   *lacunav1.DelaySummary
	}{
		{"confirms", a.GetConfirms()}, {"late confirms", a.GetLateConfirms()}, {"abandonments", a.GetAbandonments()},
	} {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t\n", row.name, row.of.GetCount(),
			rough(row.of.GetP50()), rough(row.of.GetP99()), rough(row.of.GetP999()), rough(row.of.GetMax()))
	}
	table.Flush() //nolint:errcheck // a terminal that went away has nobody to tell

	fmt.Fprintln(out)
	fmt.Fprintln(table, "window\tlate confirms after it\tnumbers held on average\t\t")
	for _, choice := range a.GetChoices() {
		present := ""
		if choice.GetWindow().AsDuration() == a.GetSafetyWindow().AsDuration() {
			present = "present"
		}
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%s\t\n", choice.GetWindow().AsDuration(), choice.GetLateAfter(), choice.GetHeld(), present)
	}
	table.Flush() //nolint:errcheck // a terminal that went away has nobody to tell
	fmt.Fprintln(out)
	if a.GetNoneAfter() != nil {
		fmt.Fprintf(out, "recommended: %s, the shortest of these that no late confirm came after\n", a.GetNoneAfter().AsDuration())
	}
	if fewer := a.GetOnePerMillion(); fewer != nil && fewer.AsDuration() != a.GetNoneAfter().AsDuration() {
		fmt.Fprintf(out, "where one confirm in a million may be late: %s\n", fewer.AsDuration())
	}
	for _, remark := range a.GetRemarks() {
		fmt.Fprintf(out, "note: %s\n", remark)
	}
}

// rough is a duration as people say it; "-" for none.
func rough(d *durationpb.Duration) string {
	switch duration := d.AsDuration(); {
	case d == nil:
		return "-"
	case duration < time.Second:
		return duration.Round(100 * time.Microsecond).String()
	case duration < time.Minute:
		return duration.Round(100 * time.Millisecond).String()
	default:
		return duration.Round(time.Second).String()
	}
}
