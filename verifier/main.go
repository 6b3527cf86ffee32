// Command second-look computes key values and steady state of the eight tests of SNIA PTS 2.0.1 from run.db alone. It
// shares no code with openpts: its rules are read from the specification, whose clauses stand beside them.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `Usage: second-look [--json] [--against FILE] RUN...

Compute key values and steady state of runs from their run.db alone.

RUN is the folder, or the run.db, of a run of one of the eight tests of PTS.

  --against FILE  Compare with what "openpts report RUN... --json" printed.
  --json          Print a JSON object for each run.

Exit codes: 0, 1 if a figure differs, 2 if something can't be read.
`

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

func command(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("second-look", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON, against := flags.Bool("json", false, ""), flags.String("against", "", "")
	folders, err := []string(nil), flags.Parse(args)
	for ; err == nil && flags.NArg() > 0; err = flags.Parse(flags.Args()[1:]) { // options may stand behind runs
		folders = append(folders, flags.Arg(0))
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		return 0
	}
	if err == nil && len(folders) == 0 {
		err = errors.New("no run is named")
	}
	if err != nil {
		fmt.Fprintf(errs, "second-look: %v\n\n%s", err, usage)
		return 2
	}
	theirs, code := []any(nil), 0
	if *against != "" {
		if theirs, err = readFigures(*against, len(folders)); err != nil {
			fmt.Fprintf(errs, "second-look: %v\n", err)
			return 2
		}
	}
	for i, folder := range folders {
		var l *Look
		r, err := readRun(folder)
		if err == nil {
			l, err = lookAt(r)
		}
		if err != nil {
			fmt.Fprintf(errs, "second-look: %v\n", err)
			code = 2
			continue
		}
		if theirs != nil {
			l.Differences = compare(l, theirs[i])
		}
		if len(l.Differences) > 0 {
			code = max(code, 1)
		}
		if !*asJSON {
			l.print(out)
		} else if err := json.NewEncoder(out).Encode(l); err != nil {
			fmt.Fprintf(errs, "second-look: %v\n", err)
			code = 2
		}
	}
	return code
}

func (l *Look) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s, %s\n", l.Run, l.Test, l.Profile)
	for _, s := range l.SteadyState {
		steady := map[bool]string{true: "steady", false: "not steady"}[s.Reached]
		verdict := fmt.Sprintf("window %d to %d, %s", s.First, s.Round, steady)
		if len(s.Variables) == 0 {
			verdict = "too few for Steady State"
		}
		fmt.Fprintf(out, "  cycle %d, %d %s: %s\n", s.Cycle, s.Complete, s.Of, verdict)
		for _, v := range s.Variables {
			fmt.Fprintf(out, "    %s: average %.6g %s, range %.2f %% (limit %g %%), slope %.2f %% (limit %g %%)\n",
				v.Variable, v.Average, v.Unit, v.RangePct, v.RangeLimit, v.SlopePct, v.SlopeLimit)
		}
	}
	for _, one := range l.KeyValues {
		value := "n/a"
		if one.Value != nil {
			value = text(*one.Value) + " " + one.Unit
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %-40s %s  %s", one.Name, value, one.Note), " "))
	}
	if l.Differences != nil && len(l.Differences) == 0 {
		fmt.Fprintln(out, "  openpts says the same")
	}
	for _, one := range l.Differences {
		fmt.Fprintf(out, "  DIFFERS %s: %v here, %v in openpts\n", one.What, one.Ours, one.Theirs)
	}
}
