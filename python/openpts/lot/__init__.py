"""Several drives tested at once on one host: which ones, on what processors, limited by what."""
