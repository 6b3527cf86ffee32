package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"
)

// run is the part of run.db on which key values rest (docs/run-folder.md).
type run struct {
	folder, testID string
	conditions     conditions
	capacity       int64 // user capacity in bytes
	steps          []*step
}

// conditions are those of the test as it was ordered; each test has a part of them.
type conditions struct {
	Test         string     `json:"test"`
	Profile      string     `json:"profile"`
	MinuteNs     int64      `json:"minute_ns"`
	ReadPcts     []float64  `json:"read_pcts"`
	BlockSizes   []int64    `json:"block_sizes_bytes"`
	Tracking     []track    `json:"tracking"`
	TCs          []int      `json:"tcs"`
	QDs          []int      `json:"qds"`
	PeriodNs     int64      `json:"tracking_period_ns"`
	SteadyFills  float64    `json:"steady_after_drive_fills"`
	Workloads    []workload `json:"workloads"`
	WaitStates   []idle     `json:"wait_states"`
	ArtLimitNs   float64    `json:"art_limit_ns"`
	PlateauPct   float64    `json:"plateau_pct"`
	MidPoints    int        `json:"mid_points"`
	HistogramNs  int64      `json:"histogram_ns"`
	TrackedRound int        `json:"max_rounds"`
}

type track struct {
	AccessPattern string  `json:"access_pattern"`
	BlockSize     int64   `json:"block_size_bytes"`
	ReadPct       float64 `json:"read_pct"`
	Figure        string  `json:"figure"`
}

type workload struct {
	Title string `json:"title"`
}

type idle struct {
	Number int   `json:"number"`
	IdleNs int64 `json:"idle_ns"`
}

// counts are I/Os that moved data: reads and writes together.
type counts struct {
	ios, bytes, written, latencySumNs, longestNs int64
}

type interval struct {
	index, elapsedNs int64
	counts
}

type step struct {
	id, startedNs, elapsedNs, intervalNs, nominalNs int64
	cycle, number, position                         int
	part, state                                     string
	idle, random                                    bool
	blockSize                                       int64 // 0: several sizes
	readPct                                         float64
	tc, qd                                          int
	counts
	histogram histogram
	intervals []interval
}

func (s *step) seconds() float64 { return float64(s.elapsedNs) / 1e9 }
func (s *step) iops() float64    { return over(float64(s.ios), s.seconds()) }
func (s *step) mbPerS() float64  { return over(float64(s.bytes)/1e6, s.seconds()) } // 2.4.1: base 10
func (s *step) artMs() float64   { return over(float64(s.latencySumNs)/1e6, float64(s.ios)) }

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func readRun(folder string) (*run, error) {
	path := folder
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		path = filepath.Join(folder, "run.db")
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no run folder: there is no run.db", folder)
	}
	// A finished record has no log beside it, and is read as it is; that of a killed run has, and SQLite reads both.
	query := url.Values{"mode": {"ro"}}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		query.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	found := &run{folder: folder}
	for _, read := range []func(*sql.DB) error{found.readManifest, found.readSteps, found.readOperations, found.readIntervals} {
		if err := read(db); err != nil {
			return nil, fmt.Errorf("%s can't be read: %w", path, err)
		}
	}
	return found, nil
}

func (r *run) readManifest(db *sql.DB) error {
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version < 4 || version > 8 {
		return fmt.Errorf("it is of version %d, and this program reads 4 to 8", version)
	}
	var target struct {
		Capacity int64 `json:"user_capacity_bytes"`
	}
	for section, into := range map[string]any{"conditions": &r.conditions, "target": &target, "test_id": &r.testID} {
		var text string
		if err := db.QueryRow("SELECT json FROM manifest WHERE section = ?", section).Scan(&text); err != nil {
			return fmt.Errorf("manifest, %s: %w", section, err)
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return fmt.Errorf("manifest, %s: %w", section, err)
		}
	}
	r.capacity = target.Capacity
	return nil
}

func (r *run) readSteps(db *sql.DB) error {
	rows, err := db.Query(`SELECT step_id, cycle, part, number, position, stimulus, stop, state, started_ns, elapsed_ns,
		interval_ns FROM step WHERE state <> 'repeated' ORDER BY step_id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		one := &step{}
		var stimulus sql.NullString
		var stop string
		if err := rows.Scan(&one.id, &one.cycle, &one.part, &one.number, &one.position, &stimulus, &stop, &one.state,
			&one.startedNs, &one.elapsedNs, &one.intervalNs); err != nil {
			return err
		}
		if err := one.readStop(stop); err != nil {
			return err
		}
		one.idle = !stimulus.Valid
		if stimulus.Valid {
			if err := one.readStimulus(stimulus.String); err != nil {
				return err
			}
		}
		r.steps = append(r.steps, one)
	}
	return rows.Err()
}

func (s *step) readStop(text string) error {
	type rule struct {
		DurationNs int64 `json:"duration_ns"`
	}
	var stop struct {
		rule
		Rules []rule `json:"rules"`
	}
	if err := json.Unmarshal([]byte(text), &stop); err != nil {
		return fmt.Errorf("stop rule of step %d: %w", s.id, err)
	}
	for _, one := range append(stop.Rules, stop.rule) {
		s.nominalNs = max(s.nominalNs, one.DurationNs)
	}
	return nil
}

func (s *step) readStimulus(text string) error {
	var stimulus struct {
		RandomPct  float64 `json:"random_pct"`
		BlockSizes []struct {
			Bytes int64 `json:"block_size_bytes"`
		} `json:"block_sizes"`
		Operations map[string]float64 `json:"operations"`
		TC         int                `json:"tc"`
		QD         int                `json:"qd"`
	}
	if err := json.Unmarshal([]byte(text), &stimulus); err != nil {
		return fmt.Errorf("stimulus of step %d: %w", s.id, err)
	}
	total := 0.0
	for _, share := range stimulus.Operations {
		total += share
	}
	s.random, s.tc, s.qd = stimulus.RandomPct > 0, stimulus.TC, stimulus.QD
	s.readPct = math.Round(1e6*over(100*stimulus.Operations["read"], total)) / 1e6
	if len(stimulus.BlockSizes) == 1 {
		s.blockSize = stimulus.BlockSizes[0].Bytes
	}
	return nil
}

// each calls `add` with the reads and writes of a table like `operation`.
func each(db *sql.DB, query string, add func(id, index int64, one counts, blob []byte) error) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, index int64
		var operation string
		var longest sql.NullInt64
		var blob []byte
		one := counts{}
		if err := rows.Scan(&id, &index, &operation, &one.ios, &one.bytes, &one.latencySumNs, &longest, &blob); err != nil {
			return err
		}
		one.longestNs = longest.Int64
		if operation == "write" {
			one.written = one.bytes
		}
		if err := add(id, index, one, blob); err != nil {
			return fmt.Errorf("step %d: %w", id, err)
		}
	}
	return rows.Err()
}

func (c *counts) add(other counts) {
	c.ios, c.bytes, c.written = c.ios+other.ios, c.bytes+other.bytes, c.written+other.written
	c.latencySumNs, c.longestNs = c.latencySumNs+other.latencySumNs, max(c.longestNs, other.longestNs)
}

func (r *run) readOperations(db *sql.DB) error {
	steps := r.byID()
	return each(db, `SELECT step_id, 0, operation, ios, bytes, latency_sum_ns, latency_max_ns, histogram FROM operation
		WHERE operation IN ('read', 'write')`, func(id, _ int64, one counts, blob []byte) error {
		at, known := steps[id]
		if !known {
			return nil
		}
		decoded, err := decodeHistogram(blob)
		at.counts.add(one)
		at.histogram = mergeHistograms(at.histogram, decoded)
		return err
	})
}

func (r *run) readIntervals(db *sql.DB) error {
	steps := r.byID()
	rows, err := db.Query("SELECT step_id, interval_index, elapsed_ns FROM interval ORDER BY step_id, interval_index")
	if err != nil {
		return err
	}
	defer rows.Close()
	places := map[[2]int64]int{}
	for rows.Next() {
		var id int64
		one := interval{}
		if err := rows.Scan(&id, &one.index, &one.elapsedNs); err != nil {
			return err
		}
		if at, known := steps[id]; known {
			places[[2]int64{id, one.index}] = len(at.intervals)
			at.intervals = append(at.intervals, one)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return each(db, `SELECT step_id, interval_index, operation, ios, bytes, latency_sum_ns, latency_max_ns, x''
		FROM interval_operation WHERE operation IN ('read', 'write')`, func(id, index int64, one counts, _ []byte) error {
		if at, known := steps[id]; known {
			place, known := places[[2]int64{id, index}]
			if !known {
				return errors.New("an operation is in no interval")
			}
			at.intervals[place].counts.add(one)
		}
		return nil
	})
}

func (r *run) byID() map[int64]*step {
	steps := map[int64]*step{}
	for _, one := range r.steps {
		steps[one.id] = one
	}
	return steps
}

// of are the steps of a cycle and phase, in their order.
func (r *run) of(cycle int, part string) (found []*step) {
	for _, one := range r.steps {
		if one.cycle == cycle && one.part == part {
			found = append(found, one)
		}
	}
	return found
}

func (r *run) cycles() (last int) {
	for _, one := range r.steps {
		last = max(last, one.cycle)
	}
	return last
}

// slug is a title as part of a key: "RND 4 KiB RW0" is rnd_4_kib_rw0.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return strings.Join(words, "_")
}

// minute is a minute of a stimulus, or what is left of the step at its end.
type minute struct {
	endNs, elapsedNs int64 // engine clock; sum of its intervals
	counts
}

// minutes divides the intervals of steps into minutes (10.3.2, 11.2 step 3.1, 12.2 step 2.2), in each step anew.
func minutes(steps []*step, minuteNs int64) (found []minute) {
	for _, one := range steps {
		per := max(1, int64(math.Round(over(float64(minuteNs), float64(one.intervalNs)))))
		last := int64(-1)
		for _, part := range one.intervals {
			if at := part.index / per; at != last {
				found, last = append(found, minute{}), at
			}
			m := &found[len(found)-1]
			m.add(part.counts)
			m.elapsedNs += part.elapsedNs
			m.endNs = one.startedNs + part.index*one.intervalNs + part.elapsedNs
		}
	}
	return found
}
