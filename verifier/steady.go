package main

import "math"

const (
	windowRounds = 5    // 2.1.13, 7.2: rounds x-4 to x
	rangePct     = 20.0 // 2.1.24 a: no more than 20 % of the average
	slopePct     = 10.0 // 2.1.24 b: within 10 % of the average
	// Both limits are inclusive ("no more than" and "<=" in 7.3.4); rounding of sums must not decide.
	tolerance = 1e-9
)

// Window is one tracked variable over the rounds of a measurement window, judged by 2.1.24 (7.3.4, 8.3.5, 9.3.4).
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
	R          *float64  `json:"r"`
	Inside     bool      `json:"inside_10pct_band"`
	Steady     bool      `json:"steady"`
}

// judge applies 2.1.24 to the values of consecutive rounds, of which the first is round `first`.
func judge(values []float64, first int) Window {
	n := float64(len(values))
	w := Window{Values: values, RangeLimit: rangePct, SlopeLimit: slopePct}
	low, high, meanX := math.Inf(1), math.Inf(-1), float64(first)+(n-1)/2
	for _, y := range values {
		w.Average += y / n
		low, high = min(low, y), max(high, y)
	}
	var xx, xy, yy float64
	for i, y := range values {
		dx, dy := float64(first+i)-meanX, y-w.Average
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	w.Slope = xy / xx // 2.1.23: of the best linear fit
	w.Intercept = w.Average - w.Slope*meanX
	if high > low {
		r := xy / math.Sqrt(xx*yy)
		w.R = &r
	}
	excursion := math.Abs(w.Slope) * (n - 1) // 2.1.24 b: maximum less minimum of the fitted line in the window
	// Multiplied out, so that an average of 0 is steady only if all values are 0.
	w.Steady = high-low <= rangePct/100*w.Average*(1+tolerance) && excursion <= slopePct/100*w.Average*(1+tolerance)
	w.Inside = low >= 0.9*w.Average*(1-tolerance) && high <= 1.1*w.Average*(1+tolerance)
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
	Of        string   `json:"of"` // rounds, tracking rounds
	Cycle     int      `json:"cycle"`
	Reached   bool     `json:"reached"`
	Round     int      `json:"round"` // x, or the last round run if it was not reached; 0: fewer than five
	First     int      `json:"window_first"`
	Rounds    int      `json:"complete_rounds"`
	Variables []Window `json:"variables"`
}

// findSteady is the first round x from `earliest` in whose window every variable is steady (7.2 step 3.2.1.2.2: all
// of them in the same five rounds), or else the last five rounds run (7.3, 8.3, 9.3; 4 step 4b).
func findSteady(of string, cycle int, earliest int, tracked []series) SteadyState {
	found := SteadyState{Of: of, Cycle: cycle}
	if len(tracked) == 0 {
		return found
	}
	found.Rounds = len(tracked[0].values)
	for x := windowRounds; x <= found.Rounds; x++ {
		windows, steady := make([]Window, len(tracked)), true
		for i, one := range tracked {
			windows[i] = judge(one.values[x-windowRounds:x], x-windowRounds+1)
			windows[i].Variable, windows[i].Unit = one.name, one.unit
			steady = steady && windows[i].Steady
		}
		found.Round, found.First, found.Variables = x, x-windowRounds+1, windows
		if steady && x >= earliest {
			found.Reached = true
			break
		}
	}
	return found
}

func mean(values []float64) (m float64) {
	for _, one := range values {
		m += one / float64(len(values))
	}
	return m
}
