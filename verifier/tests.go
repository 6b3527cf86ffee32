package main

import (
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
}

func (l *Look) key(name, unit string, value float64, note string) {
	l.KeyValues = append(l.KeyValues, KeyValue{name, unit, &value, note})
}

func (l *Look) none(name, unit, note string) {
	l.KeyValues = append(l.KeyValues, KeyValue{name, unit, nil, note})
}

func (l *Look) cell(name, unit string, value float64) {
	l.Cells = append(l.Cells, KeyValue{name, unit, &value, ""})
}

func lookAt(r *run) (*Look, error) {
	l := &Look{Schema: "openpts.second-look/1", Run: r.folder, TestID: r.testID, Test: r.conditions.Test, Profile: r.conditions.Profile}
	tests := map[string]func(*run, *Look){
		"iops": (*run).iopsTest, "tp": (*run).tpTest, "lat": (*run).latTest, "wsat": (*run).wsatTest,
		"hir": (*run).hirTest, "xsr": (*run).xsrTest, "cbw": (*run).demandTest, "dirth": (*run).demandTest,
	}
	test, known := tests[l.Test]
	if !known {
		return nil, fmt.Errorf("%s has a run of %q: only iops, tp, lat, wsat, hir, xsr, cbw and dirth are known", r.folder, l.Test)
	}
	test(r, l)
	return l, nil
}

// rounds are the complete ones of a cycle (2.1.21: a round is a complete pass through all test points), from round 1
// to the first that is not.
func (r *run) rounds(cycle, points int) (found [][]*step) {
	passes := map[int][]*step{}
	for _, one := range r.of(cycle, "round") {
		if one.state == "complete" {
			passes[one.number] = append(passes[one.number], one)
		}
	}
	for number := 1; len(passes[number]) == points; number++ {
		found = append(found, passes[number])
	}
	return found
}

// element are the steps of one test point, a step for each of the rounds.
func element(rounds [][]*step, is func(*step) bool) (found []*step) {
	for _, round := range rounds {
		if at := slices.IndexFunc(round, is); at >= 0 {
			found = append(found, round[at])
		}
	}
	return found
}

func each1(steps []*step, figure func(*step) float64) []float64 {
	values := make([]float64, len(steps))
	for i, one := range steps {
		values[i] = figure(one)
	}
	return values
}

func (s SteadyState) window(rounds [][]*step) [][]*step {
	if s.Round == 0 {
		return nil // fewer than five rounds: there is no measurement window (2.1.13)
	}
	return rounds[s.First-1 : s.Round]
}

func at(blockSize int64, readPct float64) func(*step) bool {
	return func(s *step) bool { return s.blockSize == blockSize && s.readPct == readPct }
}

func kib(bytes int64) string   { return strconv.FormatFloat(float64(bytes)/1024, 'f', -1, 64) }
func pct(share float64) string { return strconv.FormatFloat(share, 'f', -1, 64) }

// steadyRounds tracks the conditions' variables over the rounds of a cycle: by default RND 4 KiB 0/100, 64 KiB 65/35
// and 1024 KiB 100/0 (7.2 step 3.2.1.2.2), the writes at the cycle's block size (8.3.5), or ART of 4 KiB writes (9.3.4).
func (r *run) steadyRounds(cycle int, rounds [][]*step) SteadyState {
	var tracked []series
	for _, one := range r.conditions.Tracking {
		steps := element(rounds, at(one.BlockSize, one.ReadPct))
		if len(steps) != len(rounds) {
			continue // a block size that the drive does not take, or that of another cycle
		}
		name := fmt.Sprintf("%s KiB, %s %% reads", kib(one.BlockSize), pct(one.ReadPct))
		switch one.Figure {
		case "throughput":
			tracked = append(tracked, series{name, "MB/s", each1(steps, (*step).mbPerS)})
		case "mean_latency":
			tracked = append(tracked, series{name, "ms", each1(steps, (*step).artMs)})
		default:
			tracked = append(tracked, series{name, "IOPS", each1(steps, (*step).iops)})
		}
	}
	return findSteady("rounds", cycle, windowRounds, tracked)
}

// matrix is what IOPS and LAT have in common: their rounds, the window and the cells of its tables (7.3.6, 9.3.6.1).
func (r *run) matrix(l *Look) [][]*step {
	c := r.conditions
	rounds := r.rounds(1, len(c.ReadPcts)*len(c.BlockSizes))
	steady := r.steadyRounds(1, rounds)
	l.SteadyState = append(l.SteadyState, steady)
	window := steady.window(rounds)
	for _, readPct := range c.ReadPcts {
		for _, size := range c.BlockSizes {
			steps := element(window, at(size, readPct))
			if len(steps) == 0 {
				continue
			}
			name := fmt.Sprintf("rnd_%d_rw%s.", size, pct(readPct))
			l.cell(name+"iops", "IOPS", mean(each1(steps, (*step).iops)))
			l.cell(name+"art_ms", "ms", mean(each1(steps, (*step).artMs)))
			l.cell(name+"mrt_ms", "ms", slices.Max(each1(steps, (*step).mrtMs)))
			if nines, note := fiveNines(steps); note == "" {
				l.cell(name+"p99_999_ms", "ms", nines)
			}
		}
	}
	return window
}

func (s *step) mrtMs() float64 { return float64(s.longestNs) / 1e6 }

// fiveNines is the mean of the rounds' 99.999 % response times (9.3.6.1), in ms; if one of the rounds timed too few
// I/Os for it, the longest response time of all stands in, and the note says so.
func fiveNines(steps []*step) (float64, string) {
	var values []float64
	fewest := int64(math.MaxInt64)
	for _, one := range steps {
		fewest = min(fewest, one.histogram.total())
		if value, enough := one.histogram.withNines(5, one.longestNs); enough {
			values = append(values, float64(value)/1e6)
		}
	}
	if len(values) == len(steps) {
		return mean(values), ""
	}
	return slices.Max(each1(steps, (*step).mrtMs)), fmt.Sprintf("longest: a round timed %d I/Os, 100000 are needed", fewest)
}

func (r *run) iopsTest(l *Look) {
	window := r.matrix(l)
	for _, readPct := range []float64{0, 65, 100} {
		name := fmt.Sprintf("rnd_4_kib_rw%s.iops", pct(readPct))
		if steps := element(window, at(4096, readPct)); len(steps) > 0 {
			l.key(name, "IOPS", mean(each1(steps, (*step).iops)), "")
		} else {
			l.none(name, "IOPS", "not measured")
		}
	}
}

func (r *run) latTest(l *Look) {
	window := r.matrix(l)
	for _, readPct := range []float64{0, 65, 100} {
		name := fmt.Sprintf("rnd_4_kib_rw%s.", pct(readPct))
		steps := element(window, at(4096, readPct))
		if len(steps) == 0 {
			l.none(name+"art", "ms", "not measured")
			l.none(name+"five_nines", "ms", "not measured")
			continue
		}
		l.key(name+"art", "ms", mean(each1(steps, (*step).artMs)), "")
		nines, note := fiveNines(steps)
		l.key(name+"five_nines", "ms", nines, note)
	}
	r.histogramCells(l, 1, "histogram.")
}

// tpTest: a cycle for each block size (8.2), MB/s of its reads and writes in its own window.
func (r *run) tpTest(l *Look) {
	for i, size := range r.conditions.BlockSizes {
		rounds := r.rounds(i+1, len(r.conditions.ReadPcts))
		steady := r.steadyRounds(i+1, rounds)
		l.SteadyState = append(l.SteadyState, steady)
		window := steady.window(rounds)
		for _, one := range []struct {
			name    string
			readPct float64
		}{{"write", 0}, {"read", 100}} {
			name := fmt.Sprintf("seq_%s_kib.%s", slug(kib(size)), one.name)
			if steps := element(window, at(size, one.readPct)); len(steps) > 0 {
				l.key(name, "MB/s", mean(each1(steps, (*step).mbPerS)), "")
			} else {
				l.none(name, "MB/s", "not measured")
			}
		}
	}
}

// trackedMinutes are the first minute of a continuous stimulus and those that begin 30 minutes apart after it (10.3.2,
// 11.2 step 3.2, 13.2 step 3.2.2.2, 14.2 step 2.2.2), with the bytes written until each has ended.
func (r *run) trackedMinutes(cycle int, part string) (found []*step, written []int64) {
	var begun, bytes int64
	for _, one := range r.of(cycle, part) {
		bytes += one.written
		full := one.nominalNs == r.conditions.MinuteNs && one.elapsedNs >= one.nominalNs && one.state == "complete"
		if full && begun%r.conditions.PeriodNs == 0 {
			found, written = append(found, one), append(written, bytes)
		}
		begun += one.nominalNs
	}
	return found, written
}

func (r *run) preconditioning(l *Look) (SteadyState, []*step) {
	tracked, _ := r.trackedMinutes(1, "wdpc")
	steady := findSteady("tracking rounds", 1, windowRounds, []series{{"tracked minutes", "IOPS", each1(tracked, (*step).iops)}})
	l.SteadyState = append(l.SteadyState, steady)
	return steady, tracked
}

func (r *run) wsatTest(l *Look) {
	for i, load := range r.conditions.Workloads {
		cycle, key := i+1, slug(load.Title)+"."
		tracked, written := r.trackedMinutes(cycle, "saturation")
		earliest := windowRounds // the level of a fresh drive is no Steady State: one capacity comes first
		for x, bytes := range written {
			if float64(bytes) < r.conditions.SteadyFills*float64(r.capacity) {
				earliest = max(earliest, x+2)
			}
		}
		steady := findSteady("tracking rounds", cycle, earliest, []series{{"tracked minutes", "IOPS", each1(tracked, (*step).iops)}})
		l.SteadyState = append(l.SteadyState, steady)
		if steady.Reached {
			l.key(key+"steady_iops", "IOPS", steady.Variables[0].Average, "")
		} else {
			l.none(key+"steady_iops", "IOPS", "Steady State not reached")
		}
		r.zones(l, key, minutes(r.of(cycle, "saturation"), r.conditions.MinuteNs))
		r.histogramKeys(l, cycle, key)
	}
}

func rate(of []minute) float64 {
	total := minute{}
	for _, one := range of {
		total.add(one.counts)
		total.elapsedNs += one.elapsedNs
	}
	return over(float64(total.ios)*1e9, float64(total.elapsedNs))
}

// zones of 10.1, by the rule that reports print: the plateau lasts while minutes are within 10 % of the mean of the
// first five, or of the first one if those five differ by more; the end zone begins with the first minute after it
// within 10 % of the mean of the last 30 minutes, or of the last quarter.
func (r *run) zones(l *Look, key string, all []minute) {
	if len(all) < 10 {
		for _, name := range []string{"end_zone_iops", "plateau_iops"} {
			l.none(key+name, "IOPS", "fewer than ten minutes")
		}
		l.none(key+"plateau_to_end_zone_ratio", "ratio", "fewer than ten minutes")
		return
	}
	near := func(m minute, level float64) bool { return math.Abs(rate([]minute{m})-level) <= 0.1*level }
	level := rate(all[:5])
	for _, one := range all[:5] {
		if !near(one, level) {
			level = rate(all[:1])
			break
		}
	}
	plateau := 0
	for plateau < len(all) && near(all[plateau], level) {
		plateau++
	}
	final := rate(all[len(all)-min(30, len(all)/4):])
	begin := plateau
	for begin < len(all) && !near(all[begin], final) {
		begin++
	}
	fresh, end := rate(all[:plateau]), rate(all[begin:])
	l.key(key+"plateau_iops", "IOPS", fresh, "")
	if begin == len(all) {
		l.none(key+"end_zone_iops", "IOPS", "no end zone")
		l.none(key+"plateau_to_end_zone_ratio", "ratio", "no end zone")
		return
	}
	l.key(key+"end_zone_iops", "IOPS", end, "")
	l.key(key+"plateau_to_end_zone_ratio", "ratio", over(fresh, end), "")
}

// histogramKeys are those of the response time histogram at the end (10.2 step 2.4.2).
func (r *run) histogramKeys(l *Look, cycle int, key string) {
	steps := r.of(cycle, "histogram")
	if len(steps) == 0 || steps[0].ios == 0 {
		l.none(key+"histogram_iops", "IOPS", "not measured")
		l.none(key+"histogram_art", "ms", "not measured")
		l.none(key+"histogram_five_nines", "ms", "not measured")
		return
	}
	l.key(key+"histogram_iops", "IOPS", steps[0].iops(), "")
	l.key(key+"histogram_art", "ms", steps[0].artMs(), "")
	nines, note := fiveNines(steps[:1])
	l.key(key+"histogram_five_nines", "ms", nines, note)
}

// histogramCells are those of 9.3.6.2, of each step of the phase.
func (r *run) histogramCells(l *Look, cycle int, name string) {
	for _, one := range r.of(cycle, "histogram") {
		l.cell(name+"iops", "IOPS", one.iops())
		l.cell(name+"art_ms", "ms", one.artMs())
		l.cell(name+"mrt_ms", "ms", one.mrtMs())
		for nines, title := range map[int]string{3: "p99_9_ms", 4: "p99_99_ms", 5: "p99_999_ms"} {
			if value, enough := one.histogram.withNines(nines, one.longestNs); enough {
				l.cell(name+title, "ms", float64(value)/1e6)
			}
		}
	}
}

// hirTest: the baseline is the average of the window of tracking rounds (11.1, 11.2 step 3.2); IOPS of a wait state
// count its access A alone (11.2 step 4.1).
func (r *run) hirTest(l *Look) {
	steady, _ := r.preconditioning(l)
	if steady.Reached {
		l.key("baseline_iops", "IOPS", steady.Variables[0].Average, "")
	} else {
		l.none("baseline_iops", "IOPS", "Steady State not reached")
	}
	for _, wait := range r.conditions.WaitStates {
		total, ns := counts{}, int64(0)
		for _, one := range r.of(1, "wait_state") {
			if one.number == wait.Number && !one.idle && one.state == "complete" {
				total.add(one.counts)
				ns += one.elapsedNs
			}
		}
		name := fmt.Sprintf("ws%d.gain", wait.Number)
		if ns == 0 || !steady.Reached {
			l.none(name, "%", "not measured")
			continue
		}
		l.key(name, "%", 100*(over(float64(total.ios)*1e9, float64(ns))/steady.Variables[0].Average-1), "")
	}
}

// xsrTest: bandwidth of each group, and the time from the end of group 2 to the end of the minute of group 3 with the
// highest bandwidth (12.1, 12.3.2).
func (r *run) xsrTest(l *Look) {
	groups := r.of(1, "access_group")
	for number := 1; number <= 3; number++ {
		name := fmt.Sprintf("group%d.bandwidth", number)
		if len(groups) < number {
			l.none(name, "MB/s", "not measured")
			continue
		}
		l.key(name, "MB/s", groups[number-1].mbPerS(), "")
	}
	if len(groups) < 3 {
		l.none("recovery_to_peak", "min", "not measured")
		return
	}
	best, ended := -1.0, int64(0)
	for _, one := range minutes(groups[2:3], r.conditions.MinuteNs) {
		if rate := over(float64(one.bytes), float64(one.elapsedNs)); rate > best {
			best, ended = rate, one.endNs
		}
	}
	from := groups[1].startedNs + groups[1].elapsedNs
	l.key("recovery_to_peak", "min", float64(ended-from)/60e9, "")
}

// point is a combination of thread count and queue depth, with its averages over the measurement window.
type point struct {
	tc, qd    int
	iops, art float64
}

func (p point) toio() int { return p.tc * p.qd } // 2.1.29

// demandTest is CBW and DIRTH (13.2, 14.2): preconditioning, rounds over all TC and QD, and operating points.
func (r *run) demandTest(l *Look) {
	r.preconditioning(l)
	c := r.conditions
	rounds := r.rounds(1, len(c.TCs)*len(c.QDs))
	deepest := element(rounds, func(s *step) bool { return s.tc == slices.Max(c.TCs) && s.qd == slices.Max(c.QDs) })
	steady := findSteady("rounds", 1, windowRounds, []series{{"TC 32, QD 32", "IOPS", each1(deepest, (*step).iops)}})
	l.SteadyState = append(l.SteadyState, steady)
	var points []point
	for _, tc := range c.TCs {
		for _, qd := range c.QDs {
			steps := element(steady.window(rounds), func(s *step) bool { return s.tc == tc && s.qd == qd })
			if len(steps) == 0 {
				continue
			}
			p := point{tc, qd, mean(each1(steps, (*step).iops)), mean(each1(steps, (*step).artMs))}
			points = append(points, p)
			name := fmt.Sprintf("tc%d_qd%d.", tc, qd)
			l.cell(name+"iops", "IOPS", p.iops)
			l.cell(name+"bandwidth_bytes_per_s", "B/s", 1e6*mean(each1(steps, (*step).mbPerS)))
			l.cell(name+"art_ms", "ms", p.art)
			l.cell(name+"mrt_ms", "ms", slices.Max(each1(steps, (*step).mrtMs)))
		}
	}
	most, least, mid := operatingPoints(points, c.ArtLimitNs/1e6, c.PlateauPct, c.MidPoints)
	l.point("max", most)
	l.point("min", least)
	for k := range c.MidPoints {
		l.point(fmt.Sprintf("mid%d", k+1), mid[k])
	}
}

func (l *Look) point(name string, p *point) {
	if p == nil {
		l.none(name+".iops", "IOPS", "no such point")
		l.none(name+".art", "ms", "no such point")
		return
	}
	note := fmt.Sprintf("TC %d / QD %d", p.tc, p.qd)
	l.key(name+".iops", "IOPS", p.iops, note)
	l.key(name+".art", "ms", p.art, note)
}

// operatingPoints of 13.2 step 6 and 14.2 step 5. MaxIOPS: of the points with an ART below 5 ms those within 1 % of
// the highest IOPS, of them the lowest TOIO (7.1), then the higher TC, then higher IOPS; without such a point the one
// of lowest ART. MinIOPS: TC 1, QD 1. MidIOPS: measured points strictly between, nearest to equal parts of the way.
func operatingPoints(points []point, artLimitMs, plateauPct float64, mids int) (most, least *point, mid []*point) {
	mid = make([]*point, mids)
	best := 0.0
	for _, one := range points {
		if one.art < artLimitMs {
			best = max(best, one.iops)
		}
	}
	better := func(a, b *point) bool { // of two points on the plateau
		if a.toio() != b.toio() {
			return a.toio() < b.toio()
		}
		return a.tc > b.tc || a.tc == b.tc && a.iops > b.iops
	}
	for i := range points {
		one := &points[i]
		if one.tc == 1 && one.qd == 1 {
			least = one
		}
		if one.art < artLimitMs && one.iops >= best*(1-plateauPct/100) && (most == nil || better(one, most)) {
			most = one
		}
	}
	if most == nil {
		for i := range points {
			if most == nil || points[i].art < most.art {
				most = &points[i]
			}
		}
	}
	if most == nil || least == nil {
		return most, least, mid
	}
	for k := range mid {
		target := least.iops + float64(k+1)*(most.iops-least.iops)/float64(mids+1)
		for i := range points {
			one := &points[i]
			if one.iops <= least.iops || one.iops >= most.iops {
				continue
			}
			if mid[k] == nil {
				mid[k] = one
				continue
			}
			far, nearest := math.Abs(one.iops-target), math.Abs(mid[k].iops-target)
			if far < nearest || far == nearest && better(one, mid[k]) {
				mid[k] = one
			}
		}
	}
	return most, least, mid
}
