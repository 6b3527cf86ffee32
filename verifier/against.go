package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"
)

// openpts has the figures (docs/run.schema.json): its object for one run.
type openpts map[string]any

// Difference is a figure that openpts and this program do not have alike; null: it has none.
type Difference struct {
	What   string `json:"what"`
	Ours   any    `json:"ours"`
	Theirs any    `json:"openpts"`
}

func readFigures(path string, runs int) ([]openpts, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var whole openpts
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("%s is no JSON of openpts: %w", path, err)
	}
	found := []openpts{whole}
	if list, several := whole["runs"].([]any); several {
		found = nil
		for _, one := range list {
			object, _ := one.(map[string]any)
			found = append(found, object)
		}
	}
	for _, one := range found {
		if one["schema"] != "openpts.run/1" {
			return nil, fmt.Errorf("%s has no figures of a run (openpts.run/1): make it by openpts report RUN --json", path)
		}
	}
	if len(found) != runs {
		return nil, fmt.Errorf("%s has figures of %d runs, and %d are named", path, len(found), runs)
	}
	return found, nil
}

type comparison struct{ differences []Difference }

// compare says where key values, steady state and cells of openpts are others than ours.
func compare(l *Look, theirs openpts) []Difference {
	c := &comparison{}
	c.same("test", l.Test, theirs["test"])
	c.same("test_id", l.TestID, theirs["test_id"])
	c.same("profile", l.Profile, theirs["profile"])
	c.keyValues(l, dig(theirs, "measures"))
	c.steadyStates(l, theirs)
	c.cells(l, theirs)
	return c.differences
}

func (c *comparison) same(what string, ours, theirs any) {
	a, isNumber := number(ours)
	b, isToo := number(theirs)
	if isNumber && isToo {
		if math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1e-12) {
			return
		}
	} else if ours == theirs {
		return
	}
	c.differences = append(c.differences, Difference{what, ours, theirs})
}

func number(of any) (float64, bool) {
	switch value := of.(type) {
	case float64:
		return value, true
	case int:
		return float64(value), true
	}
	return 0, false
}

func optional(value *float64) any {
	if value == nil {
		return nil
	}
	return *value
}

func dig(from any, path ...string) any {
	for _, one := range path {
		object, _ := from.(map[string]any)
		if openpts, top := from.(openpts); top {
			object = openpts
		}
		from = object[one]
	}
	return from
}

// Energy and media writes are of telemetry, not of the tests' rules.
func isOther(key string) bool {
	return strings.HasPrefix(key, "energy.") || strings.HasPrefix(key, "media.")
}

func (c *comparison) keyValues(l *Look, measures any) {
	ours := map[string]bool{}
	for _, one := range l.KeyValues {
		ours[one.Name] = true
		c.same(one.Name, optional(one.Value), dig(measures, one.Name, "value"))
		if theirs, known := dig(measures, one.Name, "unit").(string); known {
			c.same(one.Name+", unit", one.Unit, theirs)
		}
	}
	all, _ := measures.(map[string]any)
	for key := range all {
		if !ours[key] && !isOther(key) {
			c.same(key, nil, dig(all, key, "value"))
		}
	}
	sort.Slice(c.differences, func(a, b int) bool { return c.differences[a].What < c.differences[b].What })
}

func printDifferences(out io.Writer, differences []Difference) {
	if len(differences) == 0 {
		fmt.Fprintln(out, "  openpts says the same")
	}
	for _, one := range differences {
		fmt.Fprintf(out, "  DIFFERS %s: %v here, %v in openpts\n", one.What, one.Ours, one.Theirs)
	}
}

// object i of a list of openpts, or nothing.
func item(list any, i int) any {
	if all, is := list.([]any); is && i < len(all) {
		return all[i]
	}
	return nil
}

func (c *comparison) steadyStates(l *Look, theirs openpts) {
	for _, s := range l.SteadyState {
		name := fmt.Sprintf("steady state, cycle %d, %s: ", s.Cycle, s.Of)
		switch l.Test {
		case "iops", "lat":
			c.rounds(name, s, theirs["steady_state"], theirs["complete_rounds"])
		case "tp":
			cycle := item(theirs["cycles"], s.Cycle-1)
			c.rounds(name, s, dig(cycle, "steady_state"), dig(cycle, "complete_rounds"))
		case "hir":
			c.same(name+"reached", s.Reached, dig(theirs, "steady_state", "reached"))
			c.window(name, s, dig(theirs, "steady_state", "window"))
		case "wsat":
			steady := dig(item(theirs["workloads"], s.Cycle-1), "steady_state")
			c.same(name+"reached", s.Reached, dig(steady, "reached"))
			if s.Reached {
				c.same(name+"tracking round", s.Round, dig(steady, "tracking_round"))
				c.oneVariable(name, s, steady)
			}
		default:
			if s.Of == "rounds" {
				c.rounds(name, s, theirs["steady_state"], theirs["complete_rounds"])
			} else {
				c.rounds(name, s, dig(theirs, "preconditioning", "steady_state"), dig(theirs, "preconditioning", "tracking_rounds"))
			}
		}
	}
}

func (c *comparison) rounds(name string, s SteadyState, theirs, complete any) {
	c.same(name+"complete rounds", s.Complete, complete)
	c.same(name+"reached", s.Reached, dig(theirs, "reached") == true)
	if s.Reached {
		c.same(name+"round", s.Round, dig(theirs, "round"))
	}
	c.window(name, s, dig(theirs, "window"))
	variables, several := dig(theirs, "variables").([]any)
	if !several {
		c.oneVariable(name, s, theirs)
		return
	}
	var judged []any
	for _, one := range variables {
		if dig(one, "judged") == true {
			judged = append(judged, one)
		}
	}
	c.same(name+"number of variables", len(s.Variables), len(judged))
	for i, ours := range s.Variables {
		one, what := item(judged, i), name+ours.Variable+", "
		c.same(what+"steady", ours.Steady, dig(one, "steady"))
		c.same(what+"average", ours.Average, dig(one, "average"))
		c.same(what+"inside the band", ours.Inside, dig(one, "inside_10pct_band"))
		c.close(what+"range", ours.RangePct, dig(one, "range_pct"))
		c.close(what+"slope excursion", ours.SlopePct, dig(one, "slope_excursion_pct"))
		c.close(what+"slope over average", over(ours.Slope, ours.Average), ratio(dig(one, "slope"), ours.Average))
		c.same(what+"intercept", ours.Intercept, dig(one, "intercept"))
		if ours.R != nil && ours.RangePct > 1e-6 {
			c.close(what+"r", *ours.R, dig(one, "r"))
		}
	}
}

func ratio(of any, average float64) any {
	value, is := of.(float64)
	if !is {
		return of
	}
	return over(value, average)
}

// close is for differences of nearly equal numbers: rounding counts there in absolute terms.
func (c *comparison) close(what string, ours float64, theirs any) {
	if value, is := theirs.(float64); is && math.Abs(value-ours) <= 1e-9 {
		return
	}
	c.same(what, ours, theirs)
}

func (c *comparison) oneVariable(name string, s SteadyState, theirs any) {
	if len(s.Variables) == 1 {
		c.same(name+"average", s.Variables[0].Average, dig(theirs, "average_iops"))
		c.close(name+"range", s.Variables[0].RangePct, dig(theirs, "range_pct"))
		c.close(name+"slope excursion", s.Variables[0].SlopePct, dig(theirs, "slope_excursion_pct"))
	}
}

func (c *comparison) window(name string, s SteadyState, theirs any) {
	if s.Round > 0 {
		c.same(name+"first round of the window", s.First, item(theirs, 0))
		c.same(name+"last round of the window", s.Round, item(theirs, s.Round-s.First))
	}
}

// cells of openpts under the names that ours have.
func (c *comparison) cells(l *Look, theirs openpts) {
	found := map[string]any{}
	collect := func(prefix string, one any, keys ...string) {
		for _, key := range keys {
			found[prefix+key] = dig(one, key)
		}
	}
	list, _ := theirs["iops"].([]any)
	for _, one := range list {
		collect(fmt.Sprintf("rnd_%v_rw%v.", int64(num(dig(one, "block_size_bytes"))), num(dig(one, "read_pct"))), one,
			"iops", "art_ms", "mrt_ms", "p99_999_ms")
	}
	collect("histogram.", theirs["histogram"], "iops", "art_ms", "mrt_ms", "p99_9_ms", "p99_99_ms", "p99_999_ms")
	list, _ = theirs["operating_points"].([]any)
	for _, one := range list {
		collect(fmt.Sprintf("tc%v_qd%v.", num(dig(one, "tc")), num(dig(one, "qd"))), one, "iops", "bandwidth_bytes_per_s", "art_ms", "mrt_ms")
	}
	for _, one := range l.Cells {
		c.same(one.Name, optional(one.Value), found[one.Name])
		delete(found, one.Name)
	}
	for name, value := range found {
		c.same(name, nil, value)
	}
}

func num(of any) float64 { value, _ := of.(float64); return value }
