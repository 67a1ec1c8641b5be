"""Every tuned number of the library, what it means, and the script that chose it.

Only accuracy and run time depend on these numbers, never the guarantee. They depend on no
user's rows. Scripts are in ``benchmarks/``; its notes say on which problems they ran, and what
had been seen before a number was fixed. Each number, or the comment over its group, names its
script, or says that none is kept. A test reads that and looks for the scripts.

Constants of a proof are not tuned: they stand beside the theorem. Sizes of blocks, numbers of
retries and the like, which change no released value, stand beside their code.
"""
