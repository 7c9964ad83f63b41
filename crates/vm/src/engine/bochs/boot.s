# The first sector of a guest's disk. The BIOS puts it at 0x7c00 and jumps to it in 16-bit mode. It goes into 32-bit mode,
# reads the rest of the disk into memory, and enters the kernel with the address of its start information in ebx, as the
# kernel's direct entry (PVH) wants it.

.set SECTOR, 0x7c00
.set ATA, 0x1f0
.set SECTORS_AT_ONCE, 256

schedlab_boot_begin:
.code16
    cli
    xorw %ax, %ax
    movw %ax, %ds
    # Address line 20, which is shut on old machines.
    inb $0x92, %al
    orb $2, %al
    outb %al, $0x92
    lgdtl (table_of_segments - schedlab_boot_begin + SECTOR)
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $8, $(flat - schedlab_boot_begin + SECTOR)

.code32
flat:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    cld
    movl $(schedlab_boot_parts - schedlab_boot_begin + SECTOR), %esi

    # A part: how many pieces, the number of its first sector, the address. No pieces end the list.
next_part:
    lodsl
    movl %eax, %ebp
    testl %eax, %eax
    jz enter
    lodsl
    movl %eax, %ebx
    lodsl
    movl %eax, %edi

    # A piece: 256 sectors, for which the controller wants a zero, from the one that ebx counts.
next_piece:
    movl $(ATA + 2), %edx
    xorl %eax, %eax
    outb %al, %dx
    incl %edx
    movl %ebx, %eax
    outb %al, %dx
    incl %edx
    movb %ah, %al
    outb %al, %dx
    incl %edx
    shrl $16, %eax
    outb %al, %dx
    incl %edx
    movl %ebx, %eax
    shrl $24, %eax
    orb $0xe0, %al
    outb %al, %dx
    incl %edx
    movb $0x20, %al
    outb %al, %dx
    # There is no stack yet.
    movl $SECTORS_AT_ONCE, %esp
next_sector:
    movl $(ATA + 7), %edx
not_ready:
    inb %dx, %al
    testb $0x80, %al
    jnz not_ready
    testb $8, %al
    jz not_ready
    movl $ATA, %edx
    movl $256, %ecx
    rep insw
    decl %esp
    jnz next_sector
    addl $SECTORS_AT_ONCE, %ebx
    decl %ebp
    jnz next_piece
    jmp next_part

enter:
    movl (schedlab_boot_info - schedlab_boot_begin + SECTOR), %ebx
    movl (schedlab_boot_entry - schedlab_boot_begin + SECTOR), %eax
    jmpl *%eax

    .balign 8
segments:
    .quad 0
    .quad 0x00cf9a000000ffff
    .quad 0x00cf92000000ffff
table_of_segments:
    .word table_of_segments - segments - 1
    .long segments - schedlab_boot_begin + SECTOR

# Filled in for each guest.
    .balign 4
schedlab_boot_entry:
    .long 0
schedlab_boot_info:
    .long 0
schedlab_boot_parts:
    .fill 12, 4, 0
    .org schedlab_boot_begin + 510
    .word 0xaa55
schedlab_boot_end:
.code64
