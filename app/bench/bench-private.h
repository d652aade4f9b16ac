/* Every benchmark, for the table in bench.c. */
#pragma once

#include "anatomy/volume/volume.h"
#include "app/bench/bench.h"

/* A made CT of a head, 512 x 512 x n_slices int16 with noise; caller frees *out. */
PlaStatus pla_bench_make_head(int n_slices, PlaVolume **out, PlaError *err);

extern const PlaBenchmark pla_benchmark_armadillo_sag;
extern const PlaBenchmark pla_benchmark_bar_sag;
extern const PlaBenchmark pla_benchmark_bar_twist;
extern const PlaBenchmark pla_benchmark_csfd;
extern const PlaBenchmark pla_benchmark_cut;
extern const PlaBenchmark pla_benchmark_cut_scaling;
extern const PlaBenchmark pla_benchmark_case_store;
extern const PlaBenchmark pla_benchmark_fit_face;
extern const PlaBenchmark pla_benchmark_frames;
extern const PlaBenchmark pla_benchmark_hex_embed;
extern const PlaBenchmark pla_benchmark_lattice;
extern const PlaBenchmark pla_benchmark_orbit;
extern const PlaBenchmark pla_benchmark_nifti_read;
extern const PlaBenchmark pla_benchmark_pbng_box;
extern const PlaBenchmark pla_benchmark_preview;
extern const PlaBenchmark pla_benchmark_distance;
extern const PlaBenchmark pla_benchmark_reduced;
extern const PlaBenchmark pla_benchmark_scan;
extern const PlaBenchmark pla_benchmark_scatter;
extern const PlaBenchmark pla_benchmark_speech;
extern const PlaBenchmark pla_benchmark_stiffness;
extern const PlaBenchmark pla_benchmark_svd;
extern const PlaBenchmark pla_benchmark_tets;
extern const PlaBenchmark pla_benchmark_tongue;
extern const PlaBenchmark pla_benchmark_tongue_full;
