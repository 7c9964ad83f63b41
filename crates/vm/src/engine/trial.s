# The smallest guest. It is entered as a kernel is (PVH): in 32-bit mode, with paging off. It does what every kernel has to
# do before anything else, turns paging on, says a word to the debug port and waits.
    .code32
    .globl schedlab_trial_begin, schedlab_trial_end
schedlab_trial_begin:
    movl $0x101000, %edi            # the page behind the program, all zero
    movl $0x83, (%edi)              # its first entry: 4 MiB from 0 on, present, writable, one page
    movl %cr4, %eax
    orl $0x10, %eax                 # pages of 4 MiB
    movl %eax, %cr4
    movl %edi, %cr3
    movl %cr0, %eax
    orl $0x80000000, %eax           # paging
    movl %eax, %cr0
    movb $'u', %al
    outb %al, $0xe9
    movb $'p', %al
    outb %al, $0xe9
    cli
1:  hlt
    jmp 1b
schedlab_trial_end:
    .code64
