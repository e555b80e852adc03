// Holds a container image open beside a launcher: waits for SIGTERM or SIGINT, then exits with 0. Takes and ignores arguments.
// Assembly because it must run in an image that holds nothing but a disk, and needs no compiler.
        .globl  _start
        .text
_start:
        mov     x8, #135                // rt_sigprocmask(SIG_BLOCK, signals, NULL, 8): process 1 gets only signals it blocks
        mov     x0, #0
        adr     x1, signals
        mov     x2, #0
        mov     x3, #8
        svc     #0
again:
        mov     x8, #137                // rt_sigtimedwait(signals, NULL, NULL, 8)
        adr     x0, signals
        mov     x1, #0
        mov     x2, #0
        mov     x3, #8
        svc     #0
        cmn     x0, #4                  // EINTR
        b.eq    again
        mov     x8, #93                 // exit(0)
        mov     x0, #0
        svc     #0
        .balign 8
signals:
        .quad   0x4002                  // SIGTERM is bit 14, SIGINT bit 1
        .section .note.GNU-stack, "", %progbits
