package main

import "math"

const (
	windowRounds = 5    // 2.1.13, 7.2: rounds x-4 to x
	rangePct     = 20.0 // 2.1.24 a: no more than 20 % of the average
	slopePct     = 10.0 // 2.1.24 b: within 10 % of the average
	// Both limits are inclusive ("no more than"; "<=" in 7.3.4), and rounding of sums must not decide.
	tolerance = 1e-9
)

// Window is a tracked variable over the rounds of a measurement window, judged by 2.1.24 (7.3.4, 8.3.5, 9.3.4).
type Window struct {
	Variable   string    `json:"variable"`
	Unit       string    `json:"unit"`
	Values     []float64 `json:"values"`
	Average    float64   `json:"average"`
	RangePct   float64   `json:"range_pct"`
	RangeLimit float64   `json:"range_limit_pct"`
	SlopePct   float64   `json:"slope_excursion_pct"`
	SlopeLimit float64   `json:"slope_limit_pct"`
	Slope      float64   `json:"slope"`
	Intercept  float64   `json:"intercept"`
	R          *float64  `json:"r"` // null where all values are the same
	Inside     bool      `json:"inside_10pct_band"`
	Steady     bool      `json:"steady"`
}

// judge applies 2.1.24 to the values of consecutive rounds from round `first` on.
func judge(values []float64, first int) Window {
	n := float64(len(values))
	w := Window{Values: values, RangeLimit: rangePct, SlopeLimit: slopePct, Average: mean(values)}
	low, high, meanX := math.Inf(1), math.Inf(-1), float64(first)+(n-1)/2
	var xx, xy, yy float64
	for i, y := range values {
		dx, dy := float64(first+i)-meanX, y-w.Average
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
		low, high = min(low, y), max(high, y)
	}
	w.Slope = xy / xx // 2.1.23: of the best linear fit
	w.Intercept = w.Average - w.Slope*meanX
	if high > low {
		r := xy / math.Sqrt(xx*yy)
		w.R = &r
	}
	excursion := math.Abs(w.Slope) * (n - 1) // 2.1.24 b: the fitted line's maximum less its minimum in the window
	w.Steady = high-low <= (rangePct/100+tolerance)*w.Average && excursion <= (slopePct/100+tolerance)*w.Average
	w.Inside = low >= (0.9-tolerance)*w.Average && high <= (1.1+tolerance)*w.Average
	if w.Average != 0 {
		w.RangePct, w.SlopePct = 100*(high-low)/w.Average, 100*excursion/w.Average
	}
	return w
}

// series is a tracked variable with a value for each round from 1.
type series struct {
	name, unit string
	values     []float64
}

// SteadyState is what 2.1.24 says of a row of rounds.
type SteadyState struct {
	Of        string   `json:"of"`
	Cycle     int      `json:"cycle"`
	Complete  int      `json:"complete_rounds"`
	Reached   bool     `json:"reached"`
	Round     int      `json:"round"` // x, or the last complete one if it was not reached
	First     int      `json:"window_first"`
	Variables []Window `json:"variables"` // none with fewer than five rounds
}

// findSteady is the first round x from `earliest` on in whose window every variable is steady (7.2 step 3.2.1.2.2), or
// else the last complete round (7.3, 8.3, 9.3; 4 step 4b). No window with a disturbed round is steady.
func findSteady(of string, cycle, earliest int, disturbed []bool, tracked ...series) SteadyState {
	s := SteadyState{Of: of, Cycle: cycle, Complete: len(disturbed), Variables: []Window{}}
	s.Round, s.First = s.Complete, min(1, s.Complete)
	for x := windowRounds; x <= s.Complete && !s.Reached; x++ {
		s.Round, s.First, s.Variables = x, x-windowRounds+1, nil
		s.Reached = x >= earliest && len(tracked) > 0
		for _, one := range tracked {
			w := judge(one.values[s.First-1:x], s.First)
			w.Variable, w.Unit = one.name, one.unit
			for _, bad := range disturbed[s.First-1 : x] {
				w.Steady = w.Steady && !bad
			}
			s.Variables, s.Reached = append(s.Variables, w), s.Reached && w.Steady
		}
	}
	return s
}

// average of the one tracked variable in the window of Steady State; NaN where that was not reached.
func (s SteadyState) average() float64 {
	if !s.Reached {
		return math.NaN()
	}
	return s.Variables[0].Average
}

// mean of no values is NaN.
func mean(values []float64) (sum float64) {
	for _, one := range values {
		sum += one
	}
	return sum / float64(len(values))
}
