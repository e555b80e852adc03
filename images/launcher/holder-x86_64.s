# Holds a container image open beside a launcher: waits for SIGTERM or SIGINT, then exits with 0. Takes and ignores arguments.
# Assembly because it must run in an image that holds nothing but a disk, and needs no compiler.
        .globl  _start
        .text
_start:
        movl    $14, %eax               # rt_sigprocmask(SIG_BLOCK, signals, NULL, 8): process 1 gets only signals it blocks
        xorl    %edi, %edi
        leaq    signals(%rip), %rsi
        xorl    %edx, %edx
        movl    $8, %r10d
        syscall
again:
        movl    $128, %eax              # rt_sigtimedwait(signals, NULL, NULL, 8)
        leaq    signals(%rip), %rdi
        xorl    %esi, %esi
        xorl    %edx, %edx
        movl    $8, %r10d
        syscall
        cmpq    $-4, %rax               # EINTR
        je      again
        movl    $60, %eax               # exit(0)
        xorl    %edi, %edi
        syscall
        .section .rodata
        .balign 8
signals:
        .quad   0x4002                  # SIGTERM is bit 14, SIGINT bit 1
        .section .note.GNU-stack, "", @progbits
