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

Compute key values and steady state of runs again, from their run.db alone.

RUN is a run folder or a run.db of one of the tests of SNIA PTS 2.0.1.

  --against FILE  Compare with what "openpts report RUN... --json" printed.
  --json          Print a JSON object for each run.

Exit codes: 0 if all is well, 1 if a figure differs, 2 if something can't be
read.
`

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

func command(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("second-look", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	against := flags.String("against", "", "")
	var folders []string
	for rest := args; ; { // options may stand behind runs
		if err := flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprint(out, usage)
				return 0
			}
			fmt.Fprintf(errs, "second-look: %v\n%s", err, usage)
			return 2
		}
		if flags.NArg() == 0 {
			break
		}
		folders, rest = append(folders, flags.Arg(0)), flags.Args()[1:]
	}
	if len(folders) == 0 {
		fmt.Fprintf(errs, "second-look: no run is named\n%s", usage)
		return 2
	}
	var theirs []openpts
	if *against != "" {
		var err error
		if theirs, err = readFigures(*against, len(folders)); err != nil {
			fmt.Fprintf(errs, "second-look: %v\n", err)
			return 2
		}
	}
	code := 0
	for i, folder := range folders {
		differences, err := look(folder, theirs, i, *asJSON, out)
		if err != nil {
			fmt.Fprintf(errs, "second-look: %v\n", err)
			code = 2
		} else if differences > 0 {
			code = max(code, 1)
		}
	}
	return code
}

func look(folder string, theirs []openpts, i int, asJSON bool, out io.Writer) (int, error) {
	r, err := readRun(folder)
	if err != nil {
		return 0, err
	}
	l, err := lookAt(r)
	if err != nil {
		return 0, err
	}
	var differences []Difference
	if theirs != nil {
		differences = compare(l, theirs[i])
	}
	if asJSON {
		return len(differences), json.NewEncoder(out).Encode(struct {
			*Look
			Compared    bool         `json:"compared"`
			Differences []Difference `json:"differences"`
		}{l, theirs != nil, differences})
	}
	l.print(out)
	if theirs != nil {
		printDifferences(out, differences)
	}
	return len(differences), nil
}

func (l *Look) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s, %s\n", l.Run, l.Test, l.Profile)
	for _, s := range l.SteadyState {
		where := fmt.Sprintf("cycle %d, %s", s.Cycle, s.Of)
		switch {
		case len(s.Variables) == 0:
			fmt.Fprintf(out, "  %s: %d complete, too few for Steady State\n", where, s.Complete)
		case s.Reached:
			fmt.Fprintf(out, "  %s: steady in %d, window %d to %d\n", where, s.Round, s.First, s.Round)
		default:
			fmt.Fprintf(out, "  %s: not steady in %d, window %d to %d\n", where, s.Complete, s.First, s.Round)
		}
		for _, v := range s.Variables {
			fmt.Fprintf(out, "    %-28s average %.6g %s, range %.2f %% (limit 20 %%), slope %.2f %% (limit 10 %%)\n",
				v.Variable, v.Average, v.Unit, v.RangePct, v.SlopePct)
		}
	}
	for _, one := range l.KeyValues {
		value := "n/a"
		if one.Value != nil {
			value = fmt.Sprintf("%.17g", *one.Value)
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %-40s %s %s  %s", one.Name, value, one.Unit, one.Note), " "))
	}
}
