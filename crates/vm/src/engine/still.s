# A shared object of one function, for x86-64 (System V ABI, chapters 4 and 5): `gettimeofday` that says the same each time. What the
# dynamic linker writes to, the table at the end, lies in a page of its own.
    .set schedlab_still_page, 0x1000
    .globl schedlab_still_begin, schedlab_still_end
schedlab_still_begin:
    .ascii "\177ELF"
    .byte 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
    .short 3, 62                    # a shared object for x86-64
    .long 1
    .quad 0, 64, 0                  # no entry, where the segments are listed, no sections
    .long 0
    .short 64, 56, 4, 64, 0, 0      # of the head, of each of four segments, of no section
    .long 1, 5                      # loaded, to be read and run
    .quad 0, 0, 0
    .quad schedlab_still_table - schedlab_still_begin, schedlab_still_table - schedlab_still_begin, schedlab_still_page
    .long 1, 6                      # loaded, to be read and written
    .quad schedlab_still_table - schedlab_still_begin
    .quad schedlab_still_table - schedlab_still_begin + schedlab_still_page
    .quad schedlab_still_table - schedlab_still_begin + schedlab_still_page
    .quad schedlab_still_end - schedlab_still_table, schedlab_still_end - schedlab_still_table, schedlab_still_page
    .long 2, 6                      # the dynamic linker's table
    .quad schedlab_still_table - schedlab_still_begin
    .quad schedlab_still_table - schedlab_still_begin + schedlab_still_page
    .quad schedlab_still_table - schedlab_still_begin + schedlab_still_page
    .quad schedlab_still_end - schedlab_still_table, schedlab_still_end - schedlab_still_table, 8
    .long 0x6474e551, 6             # a stack that is not run
    .quad 0, 0, 0, 0, 0, 16
schedlab_still_hash:
    .long 1, 2, 1, 0, 0             # one bucket, of the only symbol
    .long 0
schedlab_still_symbols:
    .zero 24
    .long 1                         # where its name is
    .byte 0x12, 0                   # global, a function
    .short 1                        # of some section
    .quad schedlab_still_code - schedlab_still_begin, schedlab_still_names - schedlab_still_code
schedlab_still_code:
    testq %rdi, %rdi
    jz 1f
    movq $1767225600, (%rdi)        # 2026-01-01
    movq $0, 8(%rdi)
1:  xorl %eax, %eax
    ret
schedlab_still_names:
    .asciz "", "gettimeofday"
    .balign 8
schedlab_still_table:
    .quad 4, schedlab_still_hash - schedlab_still_begin
    .quad 5, schedlab_still_names - schedlab_still_begin
    .quad 6, schedlab_still_symbols - schedlab_still_begin
    .quad 10, 14                    # bytes of names
    .quad 11, 24                    # bytes of a symbol
    .quad 0, 0
schedlab_still_end:
