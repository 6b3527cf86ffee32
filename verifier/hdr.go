package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
)

// histogram has counts of I/Os by response time, from the fastest on: a bucket's are at most its highest ns.
type histogram []struct{ highest, count int64 }

const (
	compressedV2 = 0x1c849314
	plainV2      = 0x1c849313
	headerBytes  = 40
)

// decodeHistogram reads the compressed HdrHistogram V2 encoding: cookie, length, and in zlib a header (cookie, length,
// normalizing offset, digits, lowest, highest, ratio) and counts as zigzag LEB128, of which negative ones skip buckets.
func decodeHistogram(blob []byte) (found histogram, err error) {
	if len(blob) == 0 {
		return nil, nil
	}
	if len(blob) < 8 || binary.BigEndian.Uint32(blob) != compressedV2 {
		return nil, errors.New("a histogram is not in compressed HdrHistogram V2 encoding")
	}
	var plain []byte
	reader, err := zlib.NewReader(bytes.NewReader(blob[8:]))
	if err == nil {
		plain, err = io.ReadAll(reader)
	}
	if err != nil {
		return nil, fmt.Errorf("a histogram can't be unpacked: %w", err)
	}
	if len(plain) < headerBytes || binary.BigEndian.Uint32(plain) != plainV2 {
		return nil, errors.New("a histogram has no V2 header")
	}
	length, digits := int(binary.BigEndian.Uint32(plain[4:])), binary.BigEndian.Uint32(plain[12:])
	lowest := binary.BigEndian.Uint64(plain[16:])
	if length > len(plain)-headerBytes || digits < 1 || digits > 5 || lowest == 0 || binary.BigEndian.Uint32(plain[8:]) != 0 {
		return nil, errors.New("a histogram's header can't be so")
	}
	resolution := uint64(2)
	for range digits {
		resolution *= 10
	}
	// sub-buckets are the next power of two; each octave has the upper half of them
	half, unit := int64(1)<<(bits.Len64(resolution-1)-1), bits.Len64(lowest)-1
	index := int64(0)
	for counts := plain[headerBytes : headerBytes+length]; len(counts) > 0; {
		count, used := zigzag(counts)
		if used == 0 {
			return nil, errors.New("a histogram's counts are cut off")
		}
		counts = counts[used:]
		if count < 0 {
			index -= count
			continue
		}
		if count > 0 {
			octave, sub := index/half-1, index%half+half
			if octave < 0 {
				octave, sub = 0, index
			}
			found = append(found, struct{ highest, count int64 }{(sub+1)<<(int(octave)+unit) - 1, count})
		}
		index++
	}
	return found, nil
}

// zigzag reads LEB128 whose ninth byte has eight bits of its own.
func zigzag(from []byte) (int64, int) {
	var raw uint64
	for at, part := range from[:min(9, len(from))] {
		if at == 8 || part < 0x80 {
			raw |= uint64(part) << (7 * at)
			return int64(raw>>1) ^ -int64(raw&1), at + 1
		}
		raw |= uint64(part&0x7f) << (7 * at)
	}
	return 0, 0
}

func mergeHistograms(a, b histogram) (merged histogram) {
	both := slices.Concat(a, b)
	slices.SortStableFunc(both, func(a, b struct{ highest, count int64 }) int { return int(a.highest - b.highest) })
	for _, one := range both {
		if last := len(merged) - 1; last >= 0 && merged[last].highest == one.highest {
			merged[last].count += one.count
		} else {
			merged = append(merged, one)
		}
	}
	return merged
}

func (h histogram) total() (ios int64) {
	for _, one := range h {
		ios += one.count
	}
	return ios
}

// withNines is the response time in ns that a share of N nines of the I/Os does not exceed: the end of that I/O's
// bucket, and no more than the longest. It takes 10^N timed I/Os (9.2 step 3.3.3, for every N).
func (h histogram) withNines(nines int, longest int64) (int64, bool) {
	needed := int64(1)
	for range nines {
		needed *= 10
	}
	rank := h.total() - h.total()/needed
	for _, one := range h {
		if rank -= one.count; rank <= 0 {
			return min(one.highest, longest), h.total() >= needed
		}
	}
	return longest, false
}
