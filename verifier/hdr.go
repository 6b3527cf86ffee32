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

// A bucket of latencies: how many I/Os took between lowest and highest, in ns.
type bucket struct{ highest, count int64 }

// histogram has its buckets from the fastest to the slowest.
type histogram []bucket

const (
	compressedV2 = 0x1c849304
	plainV2      = 0x1c849303
	wordFlag     = 0x10 // set by all writers of version 2
)

// decodeHistogram reads the HdrHistogram V2 compressed encoding: a cookie, a length and a zlib stream with a
// header of 40 bytes (cookie, length, normalizing offset, digits, lowest, highest, ratio) and zigzag LEB128 counts.
func decodeHistogram(blob []byte) (histogram, error) {
	if len(blob) == 0 {
		return nil, nil
	}
	if len(blob) < 8 || binary.BigEndian.Uint32(blob) != compressedV2|wordFlag {
		return nil, errors.New("a histogram is not in HdrHistogram V2 compressed encoding")
	}
	reader, err := zlib.NewReader(bytes.NewReader(blob[8:]))
	if err != nil {
		return nil, fmt.Errorf("a histogram can't be unpacked: %w", err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("a histogram can't be unpacked: %w", err)
	}
	if len(plain) < 40 || binary.BigEndian.Uint32(plain) != plainV2|wordFlag {
		return nil, errors.New("a histogram has no V2 header")
	}
	length := int(binary.BigEndian.Uint32(plain[4:]))
	digits := binary.BigEndian.Uint32(plain[12:])
	lowest := binary.BigEndian.Uint64(plain[16:])
	if length > len(plain)-40 || digits < 1 || digits > 5 || lowest == 0 || binary.BigEndian.Uint32(plain[8:]) != 0 {
		return nil, errors.New("a histogram's header contradicts itself")
	}
	resolution := uint64(2)
	for range digits {
		resolution *= 10
	}
	magnitude := bits.Len64(resolution - 1) // sub-buckets are the next power of two
	unit := bits.Len64(lowest) - 1
	return unpackCounts(plain[40:40+length], magnitude, unit)
}

func unpackCounts(payload []byte, magnitude, unit int) (histogram, error) {
	half := int64(1) << (magnitude - 1)
	var found histogram
	for index := int64(0); len(payload) > 0; {
		raw, used := uvarint9(payload)
		if used == 0 {
			return nil, errors.New("a histogram's counts are cut off")
		}
		payload = payload[used:]
		count := int64(raw>>1) ^ -int64(raw&1)
		if count < 0 { // a run of empty buckets
			index -= count
			continue
		}
		if count > 0 {
			shift, sub := index/half-1, index%half+half
			if shift < 0 {
				shift, sub = 0, sub-half
			}
			found = append(found, bucket{(sub+1)<<(int(shift)+unit) - 1, count})
		}
		index++
	}
	return found, nil
}

// uvarint9 is LEB128 whose ninth byte has eight bits of its own, as HdrHistogram writes it.
func uvarint9(from []byte) (value uint64, used int) {
	for at := 0; at < len(from) && at < 9; at++ {
		if at == 8 {
			return value | uint64(from[at])<<56, 9
		}
		value |= uint64(from[at]&0x7f) << (7 * at)
		if from[at] < 0x80 {
			return value, at + 1
		}
	}
	return 0, 0
}

// mergeHistograms adds histograms of the same resolution.
func mergeHistograms(parts ...histogram) histogram {
	counts := map[int64]int64{}
	for _, part := range parts {
		for _, one := range part {
			counts[one.highest] += one.count
		}
	}
	merged := make(histogram, 0, len(counts))
	for highest, count := range counts {
		merged = append(merged, bucket{highest, count})
	}
	slices.SortFunc(merged, func(a, b bucket) int { return int(a.highest - b.highest) })
	return merged
}

func (h histogram) total() (ios int64) {
	for _, one := range h {
		ios += one.count
	}
	return ios
}

// withNines is the response time, in ns, that a share of N nines of the I/Os does not exceed: the upper end of the
// bucket of that I/O, and no more than the longest. It takes 10^N timed I/Os (9.2 step 3.3.3, read for every N).
func (h histogram) withNines(nines int, longest int64) (int64, bool) {
	needed := int64(1)
	for range nines {
		needed *= 10
	}
	total := h.total()
	if total < needed {
		return 0, false
	}
	rank := total - total/needed
	for _, one := range h {
		if rank -= one.count; rank <= 0 {
			return min(one.highest, longest), true
		}
	}
	return longest, true
}
