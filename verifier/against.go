package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
)

// Difference is a figure that openpts and this program do not have alike; null: it has none.
type Difference struct {
	What   string `json:"what"`
	Ours   any    `json:"ours"`
	Theirs any    `json:"openpts"`
}

// readFigures are openpts' objects for so many runs (packages/openpts/docs/run.schema.json).
func readFigures(path string, runs int) ([]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("%s is no JSON of openpts: %w", path, err)
	}
	found, several := dig(whole, "runs").([]any)
	if !several {
		found = []any{whole}
	}
	for _, one := range found {
		if dig(one, "schema") != "openpts.run/1" {
			return nil, fmt.Errorf("%s has no figures of a run: make it by openpts report RUN --json", path)
		}
	}
	if len(found) != runs {
		return nil, fmt.Errorf("%s has figures of %d runs, and %d are named", path, len(found), runs)
	}
	return found, nil
}

func dig(from any, path ...string) any {
	for _, key := range path {
		object, _ := from.(map[string]any)
		from = object[key]
	}
	return from
}

func list(from any, path ...string) []any {
	found, _ := dig(from, path...).([]any)
	return found
}

type comparison struct{ differences []Difference }

// same holds two figures against each other, to 1e-9 of the larger one or of `scale`.
func (c *comparison) same(what string, ours, theirs any, scale float64) {
	a, isNumber := ours.(float64)
	b, isToo := theirs.(float64)
	if isNumber && isToo && math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), scale) || !isNumber && ours == theirs {
		return
	}
	c.differences = append(c.differences, Difference{what, ours, theirs})
}

// compare says where key values, steady state and cells of openpts are others than ours.
func compare(l *Look, theirs any) []Difference {
	c := &comparison{[]Difference{}}
	for key, ours := range map[string]string{"test": l.Test, "test_id": l.TestID, "profile": l.Profile} {
		c.same(key, ours, dig(theirs, key), 0)
	}
	values, cells := map[string]any{}, map[string]any{}
	measures, _ := dig(theirs, "measures").(map[string]any)
	for key, one := range measures { // energy and media writes are of telemetry, not of the tests' rules
		if !strings.HasPrefix(key, "energy.") && !strings.HasPrefix(key, "media.") {
			values[key] = dig(one, "value")
		}
	}
	collect := func(prefix string, one any, keys ...string) {
		for _, key := range append(keys, "iops", "art_ms", "mrt_ms") {
			cells[prefix+key] = dig(one, key)
		}
	}
	if l.Test != "tp" {
		for _, one := range list(theirs, "iops") {
			collect(fmt.Sprintf("rnd_%.0f_rw%v.", dig(one, "block_size_bytes"), dig(one, "read_pct")), one, "p99_999_ms")
		}
	}
	for _, one := range list(theirs, "operating_points") {
		collect(fmt.Sprintf("tc%v_qd%v.", dig(one, "tc"), dig(one, "qd")), one, "bandwidth_bytes_per_s")
	}
	collect("histogram.", dig(theirs, "histogram"), "p99_9_ms", "p99_99_ms", "p99_999_ms")
	c.named(l.KeyValues, values)
	c.named(l.Cells, cells)
	for _, s := range l.SteadyState {
		c.steady(l.Test, s, theirs)
	}
	sort.Slice(c.differences, func(a, b int) bool { return c.differences[a].What < c.differences[b].What })
	return c.differences
}

func (c *comparison) named(ours []KeyValue, theirs map[string]any) {
	for _, one := range ours {
		var value any
		if one.Value != nil {
			value = *one.Value
		}
		c.same(one.Name, value, theirs[one.Name], 0)
		delete(theirs, one.Name)
	}
	for name, value := range theirs {
		c.same(name, nil, value, 0)
	}
}

// steady compares what each form of openpts' has of: its verdict, its window, and the figures that it follows from.
func (c *comparison) steady(test string, s SteadyState, theirs any) {
	at, values, complete := dig(theirs, "steady_state"), list(theirs, "steady_state", "tracked_iops"), dig(theirs, "complete_rounds")
	switch {
	case test == "tp":
		at, complete = nil, nil
		if cycles := list(theirs, "cycles"); len(cycles) >= s.Cycle {
			at, complete = dig(cycles[s.Cycle-1], "steady_state"), dig(cycles[s.Cycle-1], "complete_rounds")
		}
	case test == "wsat":
		if loads := list(theirs, "workloads"); len(loads) >= s.Cycle {
			at, values = dig(loads[s.Cycle-1], "steady_state"), list(loads[s.Cycle-1], "tracked_iops")
		}
		complete = float64(len(values))
	case test == "hir":
		complete = float64(len(values))
	case s.Of != "rounds":
		at, complete = dig(theirs, "preconditioning", "steady_state"), dig(theirs, "preconditioning", "tracking_rounds")
		values = list(theirs, "preconditioning", "iops")
	}
	name := fmt.Sprintf("steady state of cycle %d, %s: ", s.Cycle, s.Of)
	c.same(name+"complete", float64(s.Complete), complete, 0)
	c.same(name+"reached", s.Reached, dig(at, "reached") == true, 0)
	if window := list(at, "window"); len(window) > 0 {
		c.same(name+"first round of the window", float64(s.First), window[0], 0)
		c.same(name+"last round of the window", float64(s.Round), window[len(window)-1], 0)
	} else if test == "wsat" && s.Reached {
		c.same(name+"tracking round", float64(s.Round), dig(at, "tracking_round"), 0)
	}
	judged := []any{at}
	if variables := list(at, "variables"); len(variables) > 0 {
		judged = nil
		for _, one := range variables {
			if dig(one, "judged") == true {
				judged = append(judged, one)
			}
		}
		c.same(name+"variables", float64(len(s.Variables)), float64(len(judged)), 0)
	}
	for i, v := range s.Variables[:min(len(s.Variables), len(judged))] {
		one, _ := judged[i].(map[string]any)
		for key, ours := range map[string]any{"steady": v.Steady, "inside_10pct_band": v.Inside, "average": v.Average,
			"average_iops": v.Average, "intercept": v.Intercept, "slope": v.Slope, "range_pct": v.RangePct,
			"slope_excursion_pct": v.SlopePct} {
			if value := one[key]; value != nil { // not every form has all of them
				c.same(name+v.Variable+", "+key, ours, value, map[bool]float64{true: 1, false: v.Average}[strings.HasSuffix(key, "_pct")])
			}
		}
		if v.R != nil && v.RangePct > 1e-6 && len(list(at, "variables")) > 0 {
			c.same(name+v.Variable+", r", *v.R, one["r"], 1)
		}
		for j, ours := range v.Values {
			if place := s.First - 1 + j; place < len(values) {
				c.same(fmt.Sprintf("%stracking round %d", name, place+1), ours, values[place], 0)
			}
		}
	}
}
