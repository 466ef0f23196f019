# What runs of mpirun in tests need: root, more ranks than processors, waits that give the processor
# away, a thread for each rank; and leaks of MPI's own are not those of the library. Sourced.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=^tcp \
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 \
    OMP_NUM_THREADS=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
