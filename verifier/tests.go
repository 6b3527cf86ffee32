package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// KeyValue is a figure on the cover of a report, or a cell of a test's tables.
type KeyValue struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Value *float64 `json:"value"` // null: the record does not have it
	Note  string   `json:"note,omitempty"`
}

// Look is what this program says of a run.
type Look struct {
	Schema      string        `json:"schema"`
	Run         string        `json:"run"`
	TestID      string        `json:"test_id"`
	Test        string        `json:"test"`
	Profile     string        `json:"profile"`
	SteadyState []SteadyState `json:"steady_state"`
	KeyValues   []KeyValue    `json:"key_values"`
	Cells       []KeyValue    `json:"cells"`
	Differences []Difference  `json:"differences"` // null: not compared
}

// key adds a figure, NaN where there is none; cell adds one of a table, of which only those that are there count.
func (l *Look) key(name, unit string, value float64, note string) {
	one := KeyValue{name, unit, &value, note}
	if math.IsNaN(value) {
		one.Value = nil
	}
	l.KeyValues = append(l.KeyValues, one)
}

func (l *Look) cell(name, unit string, value float64) {
	if !math.IsNaN(value) {
		l.Cells = append(l.Cells, KeyValue{name, unit, &value, ""})
	}
}

// cells of a test point: averages of the rounds' values, and the largest (7.3.6, 9.3.6.1).
func (l *Look) cells(name string, steps []*step) {
	l.cell(name+".iops", "IOPS", average(steps, counts.iops))
	l.cell(name+".art_ms", "ms", average(steps, counts.artMs))
	l.cell(name+".mrt_ms", "ms", longest(steps))
}

func lookAt(r *run) (*Look, error) {
	c := r.Conditions
	l := &Look{"openpts.second-look/1", r.folder, r.TestID, c.Test, c.Profile, []SteadyState{}, []KeyValue{}, []KeyValue{}, nil}
	test, known := map[string]func(*run, *Look){
		"iops": (*run).iopsTest, "tp": (*run).tpTest, "lat": (*run).latTest, "wsat": (*run).wsatTest,
		"hir": (*run).hirTest, "xsr": (*run).xsrTest, "cbw": (*run).demandTest, "dirth": (*run).demandTest,
	}[l.Test]
	if !known {
		return nil, fmt.Errorf("%s has a run of %q, which is none of the eight tests of PTS", r.folder, l.Test)
	}
	test(r, l)
	return l, nil
}

// rounds are the complete ones of a cycle from round 1 on (2.1.21: a complete pass through all test points), and which
// of them were disturbed.
func (r *run) rounds(cycle, points int) (found [][]*step, disturbed []bool) {
	for {
		pass := slices.DeleteFunc(r.of(cycle, "round", len(found)+1), func(s *step) bool { return !s.complete })
		if len(pass) != points {
			return found, disturbed
		}
		found = append(found, pass)
		disturbed = append(disturbed, slices.ContainsFunc(pass, func(s *step) bool { return s.disturbed }))
	}
}

// at are the steps of one test point, one of each round.
func at(rounds [][]*step, is func(*step) bool) (found []*step) {
	for _, round := range rounds {
		if i := slices.IndexFunc(round, is); i >= 0 {
			found = append(found, round[i])
		}
	}
	return found
}

func element(rounds [][]*step, size int64, readPct float64) []*step {
	return at(rounds, func(s *step) bool { return s.blockSize == size && math.Abs(s.readPct-readPct) < 1e-6 })
}

func figures(steps []*step, figure func(counts) float64) (values []float64) {
	for _, s := range steps {
		values = append(values, figure(s.counts))
	}
	return values
}

// average is the mean of the rounds' values (7.3.6.1, 8.3.7, 9.3.6.1), and not one value of all rounds together.
func average(steps []*step, figure func(counts) float64) float64 { return mean(figures(steps, figure)) }

// longest is the largest value of the rounds in ms (9.3.6.1).
func longest(steps []*step) float64 { return together(steps).mrtMs() }

// window are the rounds x-4 to x; of fewer than five, all there are.
func (s SteadyState) window(rounds [][]*step) [][]*step { return rounds[max(0, s.First-1):s.Round] }

func text(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

// isShort: the short form prepared the cycle and was kept to, so that its last window, which is known well enough as
// well, is the one that counts. Where it does not hold, rounds are preconditioned and tracked as at full length.
func (r *run) isShort(cycle int) bool {
	long := func(s *step) bool { return s.nominalNs > r.Conditions.MinuteNs }
	return r.Conditions.WithinPct > 0 && len(r.of(cycle, "wipc", 0)) == 0 && !slices.ContainsFunc(r.of(cycle, "saturation", 2), long)
}

// judgedRounds are those of a cycle, tracked by the conditions' variables: by default IOPS of RND 4 KiB 0/100, 64 KiB
// 65/35 and 1024 KiB 100/0 (7.2 step 3.2.1.2.2), write MB/s at the cycle's size (8.3.5), ART of 4 KiB writes (9.3.4).
func (r *run) judgedRounds(l *Look, cycle, points int) [][]*step {
	rounds, disturbed := r.rounds(cycle, points)
	var tracked []series
	for _, one := range r.Conditions.Tracking {
		steps := element(rounds, one.BlockSize, one.ReadPct)
		if len(steps) == 0 || len(steps) != len(rounds) {
			continue // a size that the drive does not take, or that of another cycle
		}
		unit, figure := "IOPS", counts.iops
		switch one.Figure {
		case "throughput":
			unit, figure = "MB/s", counts.mbPerS
		case "mean_latency":
			// 0 where no I/O was answered, so that no window with that round is steady.
			unit, figure = "ms", func(c counts) float64 { return map[bool]float64{true: c.artMs()}[c.ios > 0] }
		}
		name := fmt.Sprintf("%s KiB, %s %% reads", text(float64(one.BlockSize)/1024), text(one.ReadPct))
		tracked = append(tracked, series{name, unit, figures(steps, figure)})
	}
	steady := findSteady("rounds", cycle, map[bool]int{true: len(rounds), false: windowRounds}[r.isShort(cycle)], disturbed, tracked...)
	l.SteadyState = append(l.SteadyState, steady)
	return steady.window(rounds)
}

// matrix is what IOPS and LAT have in common: the window and the cells of their tables (7.3.6, 9.3.6.1).
func (r *run) matrix(l *Look) [][]*step {
	c := r.Conditions
	sizes := slices.DeleteFunc(slices.Clone(c.BlockSizes), func(size int64) bool { return slices.Contains(c.Skipped, size) })
	window := r.judgedRounds(l, 1, len(c.ReadPcts)*len(sizes))
	for _, readPct := range c.ReadPcts {
		for _, size := range sizes {
			steps, name := element(window, size, readPct), fmt.Sprintf("rnd_%d_rw%s", size, text(readPct))
			l.cells(name, steps)
			if nines, note := fiveNines(steps); note == "" {
				l.cell(name+".p99_999_ms", "ms", nines)
			}
		}
	}
	return window
}

// fiveNines is the mean of the rounds' 99.999 % response times in ms (9.3.6.1). If a round timed too few I/Os for
// one, the longest response time of all stands in, and the note says so; if a round timed none, nothing does.
func fiveNines(steps []*step) (float64, string) {
	var values []float64
	for _, s := range steps {
		value, enough := s.histogram.withNines(5, s.longestNs)
		if !enough {
			timed := slices.MinFunc(steps, func(a, b *step) int { return cmp.Compare(a.histogram.total(), b.histogram.total()) })
			return longest(steps[:len(steps)*int(min(1, timed.histogram.total()))]), fmt.Sprintf("the longest, as %d timed I/Os are too few", s.histogram.total())
		}
		values = append(values, float64(value)/1e6)
	}
	return mean(values), ""
}

func (r *run) iopsTest(l *Look) {
	window := r.matrix(l)
	for _, readPct := range []float64{0, 65, 100} {
		l.key("rnd_4_kib_rw"+text(readPct)+".iops", "IOPS", average(element(window, 4096, readPct), counts.iops), "")
	}
}

func (r *run) latTest(l *Look) {
	window := r.matrix(l)
	for _, readPct := range []float64{0, 65, 100} {
		steps, name := element(window, 4096, readPct), "rnd_4_kib_rw"+text(readPct)
		l.key(name+".art", "ms", average(steps, counts.artMs), "")
		all := together(steps) // a percentile of all I/Os of the window, where they suffice for it
		for i, nines := range []string{"three", "", "five"} {
			if value, enough := all.histogram.withNines(3+i, all.longestNs); nines != "" {
				l.key(name+"."+nines+"_nines", "ms", map[bool]float64{true: float64(value) / 1e6, false: math.NaN()}[enough], "")
			}
		}
	}
	s := together(r.of(1, "histogram", 1)) // 9.3.6.2
	l.cells("histogram", []*step{&s})
	for i, name := range []string{"p99_9_ms", "p99_99_ms", "p99_999_ms"} {
		if value, enough := s.histogram.withNines(3+i, s.longestNs); enough {
			l.cell("histogram."+name, "ms", float64(value)/1e6)
		}
	}
}

// tpTest has a cycle for each block size (8.2): MB/s of its writes and reads in its own window (8.3.7).
func (r *run) tpTest(l *Look) {
	for i, size := range r.Conditions.BlockSizes {
		window := r.judgedRounds(l, i+1, len(r.Conditions.ReadPcts))
		for j, name := range []string{"write", "read"} {
			name = fmt.Sprintf("seq_%s_kib.%s", slug(text(float64(size)/1024)), name)
			l.key(name, "MB/s", average(element(window, size, float64(100*j)), counts.mbPerS), "")
		}
	}
}

// trackedMinutes judges the first minute of a continuous stimulus and those that begin 30 minutes apart after it
// (10.3.2, 11.2 step 3.2, 13.2 step 3.2.2.2, 14.2 step 2.2.2), not before so many bytes are written.
func (r *run) trackedMinutes(l *Look, cycle int, part string, after float64) SteadyState {
	var begun, written int64
	var iops []float64
	var disturbed []bool
	earliest, short := windowRounds, r.isShort(cycle)
	period := map[bool]int64{true: r.Conditions.MinuteNs, false: r.Conditions.PeriodNs}[short]
	for _, s := range r.of(cycle, part, 0) {
		written += s.written
		full := s.complete && s.nominalNs == r.Conditions.MinuteNs && s.elapsedNs >= s.nominalNs
		if full && begun == int64(len(iops))*period {
			if float64(written) < after {
				earliest = len(iops) + 2
			}
			iops, disturbed = append(iops, s.iops()), append(disturbed, s.disturbed)
		}
		begun += s.nominalNs
	}
	s := findSteady("tracking rounds", cycle, map[bool]int{true: len(iops), false: earliest}[short], disturbed, series{"tracked minutes", "IOPS", iops})
	l.SteadyState = append(l.SteadyState, s)
	return s
}

func (r *run) wsatTest(l *Look) {
	for i, load := range r.Conditions.Workloads {
		key := slug(load.Title) + "."
		// The level of a fresh drive is no Steady State: a capacity is written first.
		steady := r.trackedMinutes(l, i+1, "saturation", r.Conditions.SteadyFills*float64(r.Target.CapacityBytes))
		l.key(key+"steady_iops", "IOPS", steady.average(), "")
		if fresh := r.of(i+1, "saturation", 0); r.Conditions.WithinPct == 0 { // the short form has none
			zones(l, key, minutes(fresh, r.Conditions.MinuteNs), intervals(fresh))
		}
		s := together(r.of(i+1, "histogram", 0)) // 10.2 step 2.4.2
		nines, note := fiveNines([]*step{&s})
		l.key(key+"histogram_iops", "IOPS", s.iops(), "")
		l.key(key+"histogram_art", "ms", s.artMs(), "")
		l.key(key+"histogram_five_nines", "ms", nines, note)
	}
}

// zones of 10.1, by the rule that reports print: the plateau lasts while minutes are within 10 % of the mean of the
// first five, or of the first one if those five differ by more, up to the fall of the intervals about its end; a fall
// within the first minute leaves none. The end zone begins with the first minute after it within 10 % of the mean of the
// last 30 minutes, or of the last quarter. Fewer than ten minutes have none.
func zones(l *Look, key string, all, parts []minute) {
	near := func(m minute, level float64) bool { return math.Abs(m.iops()-level) <= 0.1*level }
	fresh, behind, count, end := all[:0], all[:0], 0, len(all)
	if len(all) >= 2*windowRounds {
		level := sum(all[:5]).iops()
		if slices.ContainsFunc(all[:5], func(m minute) bool { return !near(m, level) }) {
			level = all[0].iops()
		}
		for count < len(all) && near(all[count], level) {
			count++
		}
		fresh = all[:count]
		if before, after := fall(all[:2], parts); len(after) > 0 && after[0].middleNs() < all[0].endNs {
			fresh, behind, count = before, after, 0
		} else if count < len(all) {
			if before, after := fall(all[count-1:min(count+2, len(all))], parts); len(after) > 0 {
				fresh, behind = before, after
			}
		}
		final := sum(all[len(all)-min(30, len(all)/4):]).iops()
		for end = max(1, count); end < len(all) && !near(all[end], final); {
			end++
		}
	}
	plateau, cache, written := sum(fresh).iops(), math.NaN(), over(float64(sum(fresh).written), 1e9)
	if count == 0 {
		plateau, cache = cache, plateau
	}
	if len(fresh) == 0 || count == len(all) {
		written = math.NaN()
	}
	settled := sum(all[end:]).iops()
	l.key(key+"end_zone_iops", "IOPS", settled, "")
	l.key(key+"plateau_iops", "IOPS", plateau, "")
	l.key(key+"cache_iops", "IOPS", cache, "")
	l.key(key+"written_until_fall", "GB", written, "")
	l.key(key+"behind_fall_iops", "IOPS", sum(behind).iops(), "")
	l.key(key+"plateau_to_end_zone_ratio", "ratio", over(plateau, settled), "")
}

// fall cuts the intervals of some minutes in two where the means differ most for their lengths: all before it from the
// first on, and those behind. There is none unless they are lower by more than 10 %, and half of the scatter is that.
func fall(of, parts []minute) (before, behind []minute) {
	near := slices.DeleteFunc(slices.Clone(parts), func(p minute) bool {
		return p.rest || p.middleNs() < of[0].startNs || p.middleNs() >= of[len(of)-1].endNs
	})
	total, first, best, scatter, place, falls := 0.0, 0.0, 0.0, 0.0, 0, false
	for _, p := range near {
		total += p.iops()
	}
	n := float64(len(near))
	for i, p := range near {
		first, scatter = first+p.iops(), scatter+(p.iops()-total/n)*(p.iops()-total/n)
		k := float64(i + 1)
		if a, b := first/k, (total-first)/(n-k); k < n && k*(n-k)/n*(a-b)*(a-b) > best {
			best, place, falls = k*(n-k)/n*(a-b)*(a-b), i+1, b < 0.9*a
		}
	}
	if n < 8 || !falls || best < scatter/2 {
		return nil, nil
	}
	return parts[:slices.IndexFunc(parts, func(p minute) bool { return p.startNs == near[place].startNs })], near[place:]
}

// hirTest: the baseline is the average of the window of tracking rounds (11.1, 11.2 step 3.2); IOPS of a wait state
// are those of its access A alone (11.2 step 4.1), which is judged only against such a baseline.
func (r *run) hirTest(l *Look) {
	baseline := r.trackedMinutes(l, 1, "wdpc", 0).average()
	l.key("baseline_iops", "IOPS", baseline, "")
	for _, wait := range r.Conditions.WaitStates {
		steps := r.of(1, "wait_state", wait.Number)
		active := together(slices.DeleteFunc(steps, func(s *step) bool { return s.idle || !s.complete }))
		l.key(fmt.Sprintf("ws%d.gain", wait.Number), "%", 100*(over(active.iops(), baseline)-1), "")
	}
}

// xsrTest: bandwidth of each group, and the time from the end of group 2 to the end of the minute of group 3 with the
// highest bandwidth (12.1, 12.3.2); a last minute that is cut short is none, and a cut group 3 has no peak. Ours: to the
// end of its first minute at 90 and at 95 % of the level before, that of the last hour of group 1.
func (r *run) xsrTest(l *Look) {
	for number := 1; number <= 3; number++ {
		l.key(fmt.Sprintf("group%d.bandwidth", number), "MB/s", together(r.of(1, "access_group", number)).mbPerS(), "")
	}
	ended := func(steps []*step) int64 { return steps[len(steps)-1].startedNs + steps[len(steps)-1].elapsedNs }
	first, second, last := r.of(1, "access_group", 1), r.of(1, "access_group", 2), r.of(1, "access_group", 3)
	minuteNs := r.Conditions.MinuteNs
	third, before := minutes(last, minuteNs), minutes(first, minuteNs)
	if n := len(third); n > 1 && float64(third[n-1].elapsedNs) < 0.9*float64(minuteNs) {
		third = third[:n-1]
	}
	level := sum(slices.DeleteFunc(before, func(m minute) bool { return m.endNs <= ended(first)-60*minuteNs })).mbPerS()
	best, peak, shares, reached := -1.0, math.NaN(), []float64{0.90, 0.95}, []float64{math.NaN(), math.NaN()}
	for _, m := range third {
		after := float64(m.endNs-ended(second)) / 60e9
		if m.mbPerS() > best {
			best, peak = m.mbPerS(), after
		}
		for i, share := range shares {
			if math.IsNaN(reached[i]) && m.mbPerS() >= share*level {
				reached[i] = after
			}
		}
	}
	if together(last).elapsedNs < r.Conditions.Groups[2].Duration_ns {
		peak = math.NaN()
	}
	l.key("recovery_to_90_pct", "min", reached[0], "")
	l.key("recovery_to_95_pct", "min", reached[1], "")
	l.key("recovery_to_peak", "min", peak, "")
}

// point is a combination of thread count and queue depth with its averages over the window.
type point struct {
	tc, qd    int
	iops, art float64
}

func (p point) toio() int { return p.tc * p.qd } // 2.1.29

// demandTest is CBW and DIRTH (13.2, 14.2): preconditioning, rounds over all TC and QD, and operating points.
func (r *run) demandTest(l *Look) {
	r.trackedMinutes(l, 1, "wdpc", 0)
	c := r.Conditions
	rounds, disturbed := r.rounds(1, len(c.TCs)*len(c.QDs))
	deepest := at(rounds, func(s *step) bool { return s.tc == slices.Max(c.TCs) && s.qd == slices.Max(c.QDs) })
	steady := findSteady("rounds", 1, windowRounds, disturbed, series{"highest TC and QD", "IOPS", figures(deepest, counts.iops)})
	l.SteadyState = append(l.SteadyState, steady)
	var points []point
	for _, tc := range c.TCs {
		for _, qd := range c.QDs {
			if steps := at(steady.window(rounds), func(s *step) bool { return s.tc == tc && s.qd == qd }); len(steps) > 0 {
				points = append(points, point{tc, qd, average(steps, counts.iops), average(steps, counts.artMs)})
				name := fmt.Sprintf("tc%d_qd%d", tc, qd)
				l.cells(name, steps)
				l.cell(name+".bandwidth_bytes_per_s", "B/s", 1e6*average(steps, counts.mbPerS))
			}
		}
	}
	for name, p := range operatingPoints(points, c.ArtLimitNs/1e6, c.PlateauPct, c.MidPoints) {
		note := fmt.Sprintf("TC %d / QD %d", p.tc, p.qd)
		l.key(name+".iops", "IOPS", p.iops, note)
		l.key(name+".art", "ms", p.art, note)
	}
	slices.SortFunc(l.KeyValues, func(a, b KeyValue) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) })
}

// operatingPoints of 13.2 step 6 and 14.2 step 5. MaxIOPS: of the points with an ART below 5 ms those within 1 % of
// the highest IOPS, of them the lowest TOIO (7.1), then the higher TC; without any the one of lowest ART. MinIOPS: TC 1,
// QD 1. MidIOPS: other measured points strictly between, each the nearest to an equal part of the way.
func operatingPoints(points []point, artLimitMs, plateauPct float64, mids int) map[string]point {
	if len(points) == 0 {
		return nil
	}
	leaner := func(a, b point) int { // fewer outstanding I/Os, then more threads
		if a.toio() != b.toio() {
			return a.toio() - b.toio()
		}
		return b.tc - a.tc
	}
	points = slices.SortedFunc(slices.Values(points), leaner)
	most, highest := slices.MinFunc(points, func(a, b point) int { return cmp.Compare(a.art, b.art) }), 0.0
	for _, p := range points {
		if p.art < artLimitMs {
			highest = max(highest, p.iops)
		}
	}
	if i := slices.IndexFunc(points, func(p point) bool { return p.art < artLimitMs && p.iops >= highest*(1-plateauPct/100) }); i >= 0 {
		most = points[i]
	}
	least := points[0] // that of TC 1, QD 1
	found := map[string]point{"max": most, "min": least}
	between := slices.DeleteFunc(points, func(p point) bool { return p.iops <= least.iops || p.iops >= most.iops })
	for k := 1; k <= mids; k++ {
		target := least.iops + float64(k)*(most.iops-least.iops)/float64(mids+1)
		slices.SortFunc(between, func(a, b point) int {
			return cmp.Or(cmp.Compare(math.Abs(a.iops-target), math.Abs(b.iops-target)), leaner(a, b))
		})
		if len(between) > 0 {
			found[fmt.Sprintf("mid%d", k)], between = between[0], between[1:]
		}
	}
	return found
}
