"""What carries out the tests of this package on a drive: the tests themselves know none."""
