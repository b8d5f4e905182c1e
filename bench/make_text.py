#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_text.py ftrace|report|bpftrace LINES FILE - write a text trace with this many lines.

The trace is of a service with sixteen workers on four CPUs that read, compute, write and
sleep, in the format of the kernel's `trace` file, of `trace-cmd report`, or of MiSeRTrace's
bpftrace script, which writes the buffer of one CPU after the other.  Blocks of lines are
repeated with other times, so that millions of lines are written in seconds.
"""
import random
import sys

CPUS = 4
FLAGS = {'sched_switch': 'd..2.', 'sched_waking': 'd.h4.', 'softirq_entry': '..s1.',
         'irq_handler_entry': 'd.h1.'}


def steps(rng):
    """One request on one worker: (thread, event, text of the kernel, text of trace-cmd)."""
    own, other = rng.sample(range(16), 2)
    name, tid = f'worker-{own}', 4000 + own
    peer, peer_tid = f'worker-{other}', 4000 + other
    buffer, size = rng.randrange(1 << 46, 1 << 47), rng.randrange(16, 4096)
    thread = (name, tid)
    yield thread, 'sys_enter', *2 * [f'NR 0 (7, {buffer:x}, 1000, 0, 0, {buffer + 64:x})']
    yield thread, 'sys_exit', *2 * [f'NR 0 = {size}']
    yield thread, 'sys_enter', *2 * [f'NR 1 (8, {buffer:x}, {size:x}, 0, 0, 0)']
    yield (thread, 'sched_waking', f'comm={peer} pid={peer_tid} prio=120 target_cpu=001',
           f'comm={peer} pid={peer_tid} prio=120 target_cpu=001')
    yield thread, 'sys_exit', *2 * [f'NR 1 = {size}']
    yield thread, 'irq_handler_entry', *2 * ['irq=28 name=eth0-rx']
    yield thread, 'irq_handler_exit', *2 * ['irq=28 ret=handled']
    yield thread, 'softirq_entry', *2 * ['vec=3 [action=NET_RX]']
    yield thread, 'softirq_exit', *2 * ['vec=3 [action=NET_RX]']
    yield thread, 'sys_enter', *2 * ['NR 202 (7f0a1c000b60, 80, 0, 0, 0, ffffffff)']
    yield (thread, 'sched_switch',
           f'prev_comm={name} prev_pid={tid} prev_prio=120 prev_state=S ==> '
           f'next_comm={peer} next_pid={peer_tid} next_prio=120',
           f'{name}:{tid} [120] S ==> {peer}:{peer_tid} [120]')
    yield (peer, peer_tid), 'sys_exit', *2 * ['NR 202 = 0']


def ftrace_line(time, cpu, step):
    (name, tid), event, text, _ = step
    flags = FLAGS.get(event, '.....')
    return f'{name:>16}-{tid:<7} [{cpu:03}] {flags} {time // 1000000}.{time % 1000000:06}: ' \
           f'{event}: {text}\n'


def report_line(time, cpu, step):
    (name, tid), event, _, text = step
    return f'{name:>16}-{tid:<5} [{cpu:03}]  {time // 1000000}.{time % 1000000:06}000: ' \
           f'{event + ":":<22}{text}\n'


CALLS = {0: 'read', 1: 'write', 44: 'sendto', 45: 'recvfrom'}


def probes(rng):
    """One request in MiSeRTrace's log: (name and tid, probe and details)."""
    tid = 4000 + rng.randrange(16)
    port = rng.randrange(32768, 61000)
    link = f'"sport=9090 dport={port} saddr=172.18.0.3 daddr=172.18.0.2"'
    head = f'"worker"|"{tid}"'
    for probe in ('tracepoint:syscalls:sys_enter_recvfrom', 'rcv',
                  'tracepoint:syscalls:sys_exit_recvfrom', 'tracepoint:syscalls:sys_enter_sendto',
                  'snd', 'tracepoint:syscalls:sys_exit_sendto'):
        if probe == 'rcv':
            yield head, f'"MT:tracepoint:tcp:tcp_rcv_space_adjust"|{link}'
        elif probe == 'snd':
            yield head, f'"MT:tcp_send"|{link}'
        else:
            yield head, f'"MT:{probe}"'


def write_ordered(out, lines, make):
    rng = random.Random(1)
    requests = [list(steps(rng)) for _ in range(2000)]
    time, written = 1000 * 1000000, 0
    while written < lines:
        for number, request in enumerate(requests):
            for step in request:
                time += 2
                out.write(make(time, number % CPUS, step))
            written += len(request)
            if written >= lines:
                return


def write_buffers(out, lines):
    """The buffer of each CPU has a few hundred lines; the buffers overlap in time."""
    rng = random.Random(1)
    requests = [list(probes(rng)) for _ in range(2000)]
    written, begin, index = 0, 10**12, 0
    while written < lines:
        for cpu in range(CPUS):
            time = begin + cpu
            for _ in range(50):
                for head, probe in requests[index % len(requests)]:
                    time += 1500
                    out.write(f'{head}|"{time}"|"{cpu}"|{probe}\n')
                    written += 1
                index += 1
        begin += 50 * 6 * 1500 + 1000


def main():
    form, lines, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, 'w', encoding='ascii') as out:
        if form == 'bpftrace':
            write_buffers(out, lines)
        else:
            write_ordered(out, lines, ftrace_line if form == 'ftrace' else report_line)


main()
