package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"
)

// run is the part of run.db on which key values rest (packages/openpts/docs/run-folder.md).
type run struct {
	folder     string
	TestID     string `json:"test_id"`
	Conditions conditions
	Target     struct {
		CapacityBytes int64 `json:"user_capacity_bytes"`
	}
	steps []*step
}

// conditions are those of the test as it was ordered; each test has some of them.
type conditions struct {
	Test       string    `json:"test"`
	Profile    string    `json:"profile"`
	MinuteNs   int64     `json:"minute_ns"`
	ReadPcts   []float64 `json:"read_pcts"`
	BlockSizes []int64   `json:"block_sizes_bytes"`
	Skipped    []int64   `json:"skipped_block_sizes_bytes"`
	Tracking   []struct {
		BlockSize int64   `json:"block_size_bytes"`
		ReadPct   float64 `json:"read_pct"`
		Figure    string  `json:"figure"`
	} `json:"tracking"`
	TCs         []int                         `json:"tcs"`
	QDs         []int                         `json:"qds"`
	PeriodNs    int64                         `json:"tracking_period_ns"`
	SteadyFills float64                       `json:"steady_after_drive_fills"`
	Workloads   []struct{ Title string }      `json:"workloads"`
	WaitStates  []struct{ Number int }        `json:"wait_states"`
	Groups      []struct{ Duration_ns int64 } `json:"groups"`
	ArtLimitNs  float64                       `json:"art_limit_ns"`
	PlateauPct  float64                       `json:"plateau_pct"`
	MidPoints   int                           `json:"mid_points"`
	WithinPct   float64                       `json:"within_pct"` // 0: full length
}

// counts are I/Os that moved data, reads and writes together, in a time.
type counts struct {
	elapsedNs, ios, bytes, written, latencySumNs, longestNs int64
}

func (c counts) iops() float64   { return over(float64(c.ios), float64(c.elapsedNs)/1e9) }
func (c counts) mbPerS() float64 { return over(float64(c.bytes)/1e6, float64(c.elapsedNs)/1e9) } // 2.4.1: base 10
func (c counts) artMs() float64  { return over(float64(c.latencySumNs)/1e6, float64(c.ios)) }
func (c counts) mrtMs() float64  { return over(float64(c.longestNs)/1e6, float64(min(c.ios, 1))) }

func (c counts) plus(o counts) counts {
	return counts{c.elapsedNs + o.elapsedNs, c.ios + o.ios, c.bytes + o.bytes, c.written + o.written,
		c.latencySumNs + o.latencySumNs, max(c.longestNs, o.longestNs)}
}

// over is NaN where there is nothing to divide by: no time, no I/O, no average.
func over(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

type interval struct {
	index int64
	counts
}

type step struct {
	id, startedNs, intervalNs, nominalNs int64
	cycle, number, tc, qd                int
	part                                 string
	complete, idle, disturbed            bool // disturbed: openpts itself stood still in it
	blockSize                            int64
	readPct                              float64
	counts
	histogram histogram
	intervals []interval
}

// A finished record has no log beside it and is read as it is; a killed run's has one, and SQLite reads both.
func readRun(folder string) (*run, error) {
	path := folder
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(folder, "run.db")
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no run folder: it has no run.db", folder)
	}
	query := "?mode=ro&immutable=1"
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		query = "?mode=ro"
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+query)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &run{folder: folder}
	version, manifest, writer := 0, []byte(nil), "an openpts that it does not name"
	if err = db.QueryRow("PRAGMA user_version").Scan(&version); err == nil && version != 1 {
		db.QueryRow(`SELECT json->>'$.test_software.value' w FROM manifest WHERE section = 'software' AND w LIKE 'openpts%'`).Scan(&writer)
		err = fmt.Errorf("it has record version %d, written by %s; only version 1 is read here", version, writer)
	}
	if err == nil {
		if err = db.QueryRow("SELECT json_group_object(section, json(json)) FROM manifest").Scan(&manifest); err == nil {
			err = json.Unmarshal(manifest, r)
		}
	}
	if err == nil {
		err = r.readSteps(db)
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", path, err)
	}
	return r, nil
}

// sums of the reads and writes of a table like `operation`, by its keys.
func sums(table, keys string) string {
	return fmt.Sprintf(`(SELECT %s, sum(ios) ios, sum(bytes) bytes, sum(bytes * (operation = 'write')) written,
		sum(latency_sum_ns) latency, max(latency_max_ns) longest FROM %s WHERE operation IN ('read', 'write') GROUP BY %s)`,
		keys, table, keys)
}

const sumColumns = ` coalesce(ios, 0), coalesce(bytes, 0), coalesce(written, 0), coalesce(latency, 0), coalesce(longest, 0) `

func (r *run) readSteps(db *sql.DB) error {
	byID := map[int64]*step{}
	// Steps that were carried out again count for nothing; several sizes have block size 0.
	err := each(db, `SELECT step_id, cycle, part, number, state = 'complete', started_ns, interval_ns, stimulus IS NULL,
		coalesce(stop->>'$.duration_ns', (SELECT max(value->>'$.duration_ns') FROM json_each(stop, '$.rules')), 0),
		iif(json_array_length(stimulus, '$.block_sizes') = 1, stimulus->>'$.block_sizes[0].block_size_bytes', 0),
		coalesce(100.0 * (stimulus->>'$.operations.read') / (SELECT sum(value) FROM json_each(stimulus, '$.operations')), 0),
		coalesce(stimulus->>'$.tc', 0), coalesce(stimulus->>'$.qd', 0), step_id IN (SELECT step_id FROM standstill),
		elapsed_ns, `+sumColumns+`FROM step LEFT JOIN `+sums("operation", "step_id")+` USING (step_id)
		WHERE state <> 'repeated' ORDER BY step_id`, func(scan func(...any) error) error {
		s := &step{}
		r.steps = append(r.steps, s)
		err := scan(&s.id, &s.cycle, &s.part, &s.number, &s.complete, &s.startedNs, &s.intervalNs, &s.idle, &s.nominalNs,
			&s.blockSize, &s.readPct, &s.tc, &s.qd, &s.disturbed,
			&s.elapsedNs, &s.ios, &s.bytes, &s.written, &s.latencySumNs, &s.longestNs)
		byID[s.id] = s
		return err
	})
	if err != nil {
		return err
	}
	err = each(db, `SELECT step_id, histogram FROM operation WHERE operation IN ('read', 'write')`, func(scan func(...any) error) error {
		var id int64
		var blob []byte
		if err := scan(&id, &blob); err != nil || byID[id] == nil {
			return err
		}
		decoded, err := decodeHistogram(blob)
		byID[id].histogram = mergeHistograms(byID[id].histogram, decoded)
		return err
	})
	if err != nil {
		return err
	}
	return each(db, `SELECT step_id, interval_index, elapsed_ns, `+sumColumns+`FROM interval LEFT JOIN `+
		sums("interval_operation", "step_id, interval_index")+` USING (step_id, interval_index)
		ORDER BY step_id, interval_index`, func(scan func(...any) error) error {
		var id int64
		var i interval
		err := scan(&id, &i.index, &i.elapsedNs, &i.ios, &i.bytes, &i.written, &i.latencySumNs, &i.longestNs)
		if s := byID[id]; s != nil {
			s.intervals = append(s.intervals, i)
		}
		return err
	})
}

func each(db *sql.DB, query string, row func(scan func(...any) error) error) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// of are the steps of a cycle and phase in their order, of one number unless it is 0.
func (r *run) of(cycle int, part string, number int) (found []*step) {
	for _, s := range r.steps {
		if s.cycle == cycle && s.part == part && (number == 0 || s.number == number) {
			found = append(found, s)
		}
	}
	return found
}

// together are the pieces in which a long stimulus was recorded, as one.
func together(pieces []*step) (all step) {
	for _, s := range pieces {
		all.counts, all.histogram = all.counts.plus(s.counts), mergeHistograms(all.histogram, s.histogram)
	}
	return all
}

// slug is a title as part of a key: "RND 4 KiB RW0" is rnd_4_kib_rw0.
func slug(title string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}), "_")
}

// minute is a minute of a stimulus, or an interval, on the engine's clock; a rest is what a step has after its last
// whole interval.
type minute struct {
	startNs, endNs int64
	rest           bool
	counts
}

func (m minute) middleNs() int64 { return m.startNs + m.elapsedNs/2 }

func sum(of []minute) (all counts) {
	for _, one := range of {
		all = all.plus(one.counts)
	}
	return all
}

func intervals(steps []*step) (found []minute) {
	for _, s := range steps {
		for _, part := range s.intervals {
			begin := s.startedNs + part.index*s.intervalNs
			found = append(found, minute{begin, begin + part.elapsedNs, part.index > 0 && part.elapsedNs < s.intervalNs, part.counts})
		}
	}
	return found
}

// minutes divides consecutive steps into minutes since the stimulus began (10.3.2, 12.2 step 2.2). An interval is
// of the minute in which its middle lies; what a step has after its last whole one is of the minute before.
func minutes(steps []*step, minuteNs int64) (found []minute) {
	last := int64(-1)
	for _, part := range intervals(steps) {
		if at := (part.middleNs() - steps[0].startedNs) / minuteNs; at != last && !part.rest {
			found, last = append(found, minute{startNs: part.startNs}), at
		}
		m := &found[len(found)-1]
		m.counts, m.endNs = m.counts.plus(part.counts), part.endNs
	}
	return found
}
