"""Where the runs of a sweep are carried out: processes of this machine, or Dask workers."""
