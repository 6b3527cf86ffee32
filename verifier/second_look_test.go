package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// Windows that pin down 2.1.24, and three of a published report; figures were worked out by hand.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		name                                        string
		first                                       int
		values                                      []float64
		average, rangePct, slopePct, slope, zero, r float64
		inside, steady                              bool
	}{
		{"range exactly at the limit", 1, []float64{90, 110, 100, 110, 90}, 100, 20, 0, 0, 100, 0, true, true},
		{"slope exactly at the limit", 1, []float64{95, 97.5, 100, 102.5, 105}, 100, 10, 10, 2.5, 92.5, 1, true, true},
		{"slope fails over the window", 1, []float64{94, 97, 100, 103, 106}, 100, 12, 12, 3, 91, 1, true, false},
		{"range fails, slope passes", 1, []float64{100, 125, 100, 100, 100}, 105, 23.8095, 9.5238, -2.5, 112.5, -0.353553, false, false},
		{"steady outside the band", 1, []float64{100, 100, 115, 100, 100}, 103, 14.5631, 0, 0, 103, 0, false, true},
		{"constant", 1, []float64{100, 100, 100, 100, 100}, 100, 0, 0, 0, 100, math.NaN(), true, true},
		{"rounds 4 to 8", 4, []float64{105, 101, 100, 99, 100}, 101, 5.9406, 4.7525, -1.2, 108.2, -0.80904, true, true},
		{"TKperf, IOPS", 0, []float64{400601, 466617, 455909, 443971, 456382}, 444696, 14.8452, 7.9979, 8891.6, 426912.8, 0.54236, true, true},
		{"TKperf, throughput", 2, []float64{2060584, 2079098, 2296659, 2153472, 2081413}, 2134245.2, 11.0613, 2.1747, 11603.2, 2087832.4, 0.188213, true, true},
		{"TKperf, latency", 0, []float64{14.403009, 13.477131, 13.436298, 13.412567, 13.029086}, 13.5516182, 10.1384, 8.3013, -0.281241, 14.1141002, -0.873736, true, true},
	} {
		w := judge(c.values, c.first)
		near(t, c.name+": average", w.Average, c.average, 1e-6)
		near(t, c.name+": range", w.RangePct, c.rangePct, 6e-5)
		near(t, c.name+": slope excursion", w.SlopePct, c.slopePct, 6e-5)
		near(t, c.name+": slope", w.Slope, c.slope, 1e-6)
		near(t, c.name+": intercept", w.Intercept, c.zero, 1e-6)
		if (w.R == nil) != math.IsNaN(c.r) {
			t.Errorf("%s: r is %v", c.name, w.R)
		} else if w.R != nil {
			near(t, c.name+": r", *w.R, c.r, 1e-6)
		}
		if w.Inside != c.inside || w.Steady != c.steady {
			t.Errorf("%s: inside the band %v, steady %v", c.name, w.Inside, w.Steady)
		}
	}
}

func TestFirstSteadyRound(t *testing.T) {
	values := []float64{200, 150, 125, 105, 101, 100, 99, 100, 100}
	calm := make([]bool, len(values))
	s := findSteady("rounds", 1, 5, calm, series{"y", "IOPS", values})
	if !s.Reached || s.Round != 8 || s.First != 4 {
		t.Errorf("the window 4 to 8 is the first steady one, not %d to %d", s.First, s.Round)
	}
	// 7.2 step 3.2.1.2.2: all variables in the same five rounds
	falls := []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}
	if s = findSteady("rounds", 1, 5, calm, series{"y", "", values}, series{"z", "", falls}); s.Reached || s.Round != 9 || s.First != 5 {
		t.Errorf("one of two variables falls: %+v", s)
	}
	if s = findSteady("rounds", 1, 9, calm, series{"y", "", values}); s.Round != 9 || !s.Reached {
		t.Errorf("not before round 9: %+v", s)
	}
	calm[7] = true
	if s = findSteady("rounds", 1, 5, calm, series{"y", "", values}); s.Reached {
		t.Error("a window with a disturbed round is not steady")
	}
	if s = findSteady("rounds", 1, 5, calm[:4], series{"y", "", values[:4]}); s.Reached || s.First != 1 || s.Round != 4 || len(s.Variables) > 0 {
		t.Errorf("four rounds are no window: %+v", s)
	}
	if s = findSteady("rounds", 1, 5, nil, series{"y", "", nil}); s.First != 0 || s.Round != 0 {
		t.Errorf("no round: %+v", s)
	}
}

// 13.2 step 6, 14.2 step 5: of the points below 5 ms within 1 % of the highest IOPS the least TOIO.
func TestOperatingPoints(t *testing.T) {
	for name, c := range map[string]struct {
		points    []point
		most, mid [2]int
		mids      int
		absent    string
	}{
		"deep queues": {[]point{{32, 32, 100000, 10.24}, {16, 32, 99900, 5.125}, {8, 32, 99500, 2.573}, {32, 8, 99500, 2.573},
			{4, 8, 52000, 0.615}, {8, 2, 48000, 0.333}, {1, 1, 9000, 0.111}}, [2]int{32, 8}, [2]int{4, 8}, 1, "mid2"},
		"plateau": {[]point{{32, 8, 99900, 2.563}, {16, 8, 99800, 1.283}, {8, 8, 99000, 0.646}, {4, 8, 90000, 0.356},
			{1, 1, 9000, 0.111}}, [2]int{8, 8}, [2]int{4, 8}, 1, "mid2"},
		"none below 5 ms":               {[]point{{32, 32, 900, 50}, {4, 8, 800, 20}, {1, 1, 100, 10}}, [2]int{1, 1}, [2]int{}, 1, "mid1"},
		"a lean point that is too slow": {[]point{{32, 32, 1000, 4}, {8, 8, 999, 6}, {4, 4, 500, 3}, {1, 1, 100, 1}}, [2]int{32, 32}, [2]int{4, 4}, 1, "mid2"},
		"one point is no two":           {[]point{{8, 8, 1000, 1}, {2, 2, 400, 1}, {1, 1, 100, 1}}, [2]int{8, 8}, [2]int{2, 2}, 2, "mid2"},
	} {
		found := operatingPoints(c.points, 5, 1, c.mids)
		most, mid := found["max"], found["mid1"]
		if most.tc != c.most[0] || most.qd != c.most[1] || mid.tc != c.mid[0] || mid.qd != c.mid[1] || found["min"].tc != 1 {
			t.Errorf("%s: %+v", name, found)
		}
		if _, there := found[c.absent]; there {
			t.Errorf("%s: there is a %s", name, c.absent)
		}
	}
}

// encode writes a histogram of three digits as the encoding's description has it, independently of the decoder.
func encode(counts map[int]int64, last int) []byte {
	var payload []byte
	put := func(value int64) {
		raw := uint64(value<<1) ^ uint64(value>>63)
		for i := 0; i < 8 && raw >= 0x80; i++ {
			payload, raw = append(payload, byte(raw)|0x80), raw>>7
		}
		payload = append(payload, byte(raw))
	}
	empty := int64(0)
	for i := 0; i <= last; i++ {
		if counts[i] == 0 {
			empty++
			continue
		}
		if empty > 0 {
			put(-empty)
		}
		put(counts[i])
		empty = 0
	}
	plain := binary.BigEndian.AppendUint32(nil, plainV2)
	for _, word := range []uint32{uint32(len(payload)), 0, 3} {
		plain = binary.BigEndian.AppendUint32(plain, word)
	}
	plain = binary.BigEndian.AppendUint64(plain, 1)
	plain = binary.BigEndian.AppendUint64(plain, 1<<40)
	plain = append(binary.BigEndian.AppendUint64(plain, math.Float64bits(1)), payload...)
	var packed bytes.Buffer
	writer := zlib.NewWriter(&packed)
	writer.Write(plain)
	writer.Close()
	blob := binary.BigEndian.AppendUint32(nil, compressedV2)
	return append(binary.BigEndian.AppendUint32(blob, uint32(packed.Len())), packed.Bytes()...)
}

func TestHistogram(t *testing.T) {
	// with three digits values up to 2047 have buckets of their own, then 1024 buckets to an octave
	found, err := decodeHistogram(encode(map[int]int64{0: 1, 1500: 2, 2047: 3, 2048: 4, 3071: 5, 3072: 6, 5000: 1 << 60}, 5000))
	want := []struct{ highest, count int64 }{{0, 1}, {1500, 2}, {2047, 3}, {2049, 4}, {4095, 5}, {4099, 6}, {(5000%1024+1024+1)<<3 - 1, 1 << 60}}
	if err != nil || fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%v, %v", found, err)
	}
	if got := fmt.Sprint(mergeHistograms(found[:3], found[1:4])); got != "[{0 1} {1500 4} {2047 6} {2049 4}]" {
		t.Error(got)
	}
	for name, blob := range map[string][]byte{"cookie": []byte("12345678"), "short": {1}, "zlib": append(encode(nil, 0)[:8], 1, 2, 3)} {
		if _, err := decodeHistogram(blob); err == nil {
			t.Errorf("%s is no histogram", name)
		}
	}
}

// 9.2 step 3.3.3: N nines take 10^N I/Os; the I/O of rank ceil(q N) decides.
func TestNines(t *testing.T) {
	h := histogram{{100, 99_999}, {900, 1}}
	for _, c := range []struct {
		nines          int
		longest, value int64
		enough         bool
	}{{3, 850, 100, true}, {5, 850, 100, true}, {6, 850, 0, false}} {
		value, enough := h.withNines(c.nines, c.longest)
		if enough != c.enough || enough && value != c.value {
			t.Errorf("%d nines: %d, %v", c.nines, value, enough)
		}
	}
	h[0].count, h[1].count = 199_997, 3 // ceil(0.99999 * 200,000) = 199,998
	if value, _ := h.withNines(5, 850); value != 850 {
		t.Errorf("the longest is no bucket's end: %d", value)
	}
	if _, enough := (histogram{{1, 99_999}}).withNines(5, 1); enough {
		t.Error("99,999 I/Os are too few")
	}
}

// 2.4.1: a rate in MB/s is base 10.
func TestRates(t *testing.T) {
	c := counts{elapsedNs: 2e9, ios: 8000, bytes: 8000 * 131072, latencySumNs: 16e9, longestNs: 5e6}
	near(t, "IOPS", c.iops(), 4000, 0)
	near(t, "MB/s", c.mbPerS(), 524.288, 1e-9)
	near(t, "ART", c.artMs(), 2, 0)
	near(t, "MRT", c.mrtMs(), 5, 0)
	if both := c.plus(counts{elapsedNs: 2e9, longestNs: 7e6}); both.iops() != 2000 || both.longestNs != 7e6 {
		t.Error(both)
	}
	if !math.IsNaN((counts{}).artMs()) || !math.IsNaN(mean(nil)) {
		t.Error("nothing has no average")
	}
}

func TestMinutes(t *testing.T) {
	second := int64(1e9)
	of := func(start int64, parts ...int64) *step {
		s := &step{startedNs: start * second, intervalNs: 20 * second}
		for i, elapsed := range parts {
			s.intervals = append(s.intervals, interval{int64(i), counts{elapsedNs: elapsed * second, ios: 1}})
		}
		return s
	}
	// the second step begins in the middle of a minute; 1 s after its last interval is of the minute before
	found := minutes([]*step{of(5, 20, 20, 20, 20), of(85, 20, 20, 1)}, 60*second)
	if len(found) != 2 || found[0].ios != 3 || found[1].ios != 4 || found[1].endNs != 126*second || found[1].elapsedNs != 61*second {
		t.Errorf("%+v", found)
	}
}

func TestZones(t *testing.T) {
	var all []minute
	for _, iops := range []int64{100, 100, 104, 96, 100, 70, 55, 52, 50, 50, 50, 50} {
		all = append(all, minute{counts: counts{elapsedNs: 60e9, ios: 60 * iops}})
	}
	l := &Look{}
	zones(l, "", all, nil)
	near(t, "plateau", *valueOf(l, "plateau_iops"), 100, 1e-9)
	near(t, "end zone", *valueOf(l, "end_zone_iops"), (55+52+4*50)/6., 1e-9)
	near(t, "ratio", *valueOf(l, "plateau_to_end_zone_ratio"), 600./307, 1e-9)
	l = &Look{}
	if zones(l, "", all[:9], nil); valueOf(l, "plateau_iops") != nil {
		t.Error("nine minutes have no zones")
	}
}

func valueOf(l *Look, name string) *float64 {
	return l.KeyValues[slices.IndexFunc(l.KeyValues, func(k KeyValue) bool { return k.Name == name })].Value
}

func TestFall(t *testing.T) {
	var all, parts []minute
	for n := range int64(12) {
		all = append(all, minute{startNs: n * 60e9, endNs: (n + 1) * 60e9})
		for second := range int64(60) {
			iops := map[bool]int64{true: 900, false: 100}[n == 0 && second < 15]
			one := counts{elapsedNs: 1e9, ios: iops, written: iops * 1e6}
			parts = append(parts, minute{startNs: (60*n + second) * 1e9, counts: one})
			all[n].counts = all[n].plus(one)
		}
	}
	l := &Look{}
	zones(l, "", all, parts)
	if valueOf(l, "plateau_iops") != nil {
		t.Error("it falls within its first minute")
	}
	for name, want := range map[string]float64{"cache_iops": 900, "written_until_fall": 13.5, "behind_fall_iops": 100, "end_zone_iops": 100} {
		near(t, name, *valueOf(l, name), want, 1e-9)
	}
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{"RND 4 KiB RW0": "rnd_4_kib_rw0", "SEQ 0.5 KiB RW50": "seq_0_5_kib_rw50"} {
		if got := slug(title); got != want {
			t.Errorf("%s is %s", title, got)
		}
	}
}

func TestCommand(t *testing.T) {
	none := t.TempDir()
	list := filepath.Join(none, "list.json")
	os.WriteFile(list, []byte(`{"runs": [{"schema": "openpts.run/1"}]}`), 0o600)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "no run is named"}, {[]string{"--help"}, 0, "Usage"}, {[]string{"--wrong", none}, 2, "wrong"},
		{[]string{none, "--json"}, 2, "has no run.db"}, {[]string{none, "--against", "nothing.json"}, 2, "nothing.json"},
		{[]string{none, none, "--against", list}, 2, "figures of 1 runs, and 2 are named"},
	} {
		var out, errs bytes.Buffer
		if code := command(c.args, &out, &errs); code != c.code || !strings.Contains(out.String()+errs.String(), c.says) {
			t.Errorf("%v: %d, %s%s", c.args, code, out.String(), errs.String())
		}
	}
}

func TestDifferences(t *testing.T) {
	value := 100.0
	l := &Look{Test: "xsr", TestID: "a", Profile: "client", KeyValues: []KeyValue{{"group1.bandwidth", "MB/s", &value, ""}, {"recovery_to_peak", "min", nil, ""}}}
	for text, want := range map[string]int{
		`{"group1.bandwidth": {"value": 100.00000001}, "recovery_to_peak": {"value": null}}`:            0,
		`{"group1.bandwidth": {"value": 100.000001}, "recovery_to_peak": {"value": null}}`:              1,
		`{"group1.bandwidth": {"value": null}, "recovery_to_peak": {"value": 1}, "more": {"value": 2}}`: 3,
		`{"group1.bandwidth": {"value": 100}, "energy.loads.mean_w": {"value": 2}}`:                     0,
	} {
		var theirs any
		if err := json.Unmarshal([]byte(`{"test": "xsr", "test_id": "a", "profile": "client", "measures": `+text+`}`), &theirs); err != nil {
			t.Fatal(err)
		}
		if found := compare(l, theirs); len(found) != want {
			t.Errorf("%s: %v", text, found)
		}
	}
}
