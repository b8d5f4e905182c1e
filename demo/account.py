#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""account.py SONDE CAPTURE: what a recording of the demo shows, in words.

Two questions are put to the capture, and every number comes from its records:

- Who waited longest for a lock, and what was the holder doing?  A futex on
  which several threads waited is taken for a lock.  Whoever wakes a waiter had
  the lock; if the waker had been waiting as well, its own waker had it before.
  So the wait is handed from waker to waker until it falls on stretches in which
  somebody was not waiting for a lock.  Each step ends earlier than the one
  before, so this ends.
- Who was ready but had no CPU, and who had it?  The turns of all threads on a
  CPU are in the capture, also of those outside its scope.
"""
import bisect
import json
import subprocess
import sys
from collections import Counter, defaultdict

DOING = {'R': 'running', 'D': 'blocked for disk', 'N': 'blocked for network', 'T': 'asleep',
         'L': 'blocked for a lock', 'I': 'blocked for a process', 'U': 'blocked for input',
         '?': 'blocked', 'C': 'waiting for a CPU', 'Q': 'out of CPU quota'}


def ms(ns):
    return f'{ns / 1e6:.2f} ms' if ns < 1e9 else f'{ns / 1e9:.2f} s'


def percent(part, whole):
    return f'{100 * part / whole:3.0f} %' if whole else '  0 %'


def length(interval):
    return interval['end'] - interval['start']


def group_name(comm):
    """Threads are called NAME/NUMBER here, and by the kernel."""
    return comm.split('/')[0]


def waker_text(wait):
    if wait['context'] == 'task':
        return wait['waker_comm']
    return f"{wait['context']} {wait.get('vector', '')}".rstrip()


class Recording:
    def __init__(self, sonde, path):
        self.info = json.loads(subprocess.run([sonde, 'info', '--json', path], check=True,
                                              stdout=subprocess.PIPE).stdout)
        self.intervals = []
        self.of_thread = defaultdict(list)
        self.turns = defaultdict(list)
        dump = [sonde, 'dump', '--json', '--kind=interval', path]
        with subprocess.Popen(dump, stdout=subprocess.PIPE, text=True) as lines:
            for line in lines.stdout:
                self.add(json.loads(line))
        if lines.returncode:
            sys.exit(1)
        for some in (*self.of_thread.values(), *self.turns.values()):
            some.sort(key=lambda i: i['start'])

    def add(self, interval):
        self.intervals.append(interval)
        self.of_thread[interval['tid']].append(interval)
        if interval['state'] == 'R':
            self.turns[interval['cpu']].append(interval)

    def waits(self, state):
        return [i for i in self.intervals if i['state'] == state and not i.get('open')]

    def line(self, interval):
        words = f"{(interval['start'] - self.info['start']) / 1e9:12.6f} s  " \
                f"{interval['comm']:<15} {interval['state']} {ms(length(interval)):>10}"
        for key in ('syscall', 'name'):
            if key in interval:
                words += f'  {interval[key]}'
        if interval['state'] in 'RC':
            words += f"  on CPU {interval['cpu']}"
        elif 'context' in interval:
            words += '  woken by ' + waker_text(interval)
        return words


def overlaps(intervals, start, end):
    """Each of the intervals, sorted and apart, that touches [start, end], and for how long."""
    first = bisect.bisect_left(intervals, start, key=lambda i: i['end'])
    for interval in intervals[first:]:
        if interval['start'] >= end:
            break
        both = min(end, interval['end']) - max(start, interval['start'])
        if both > 0:
            yield interval, both


def behind(recording, wait, start, end, depth=0):
    """What whoever ended the wait did between start and end, as (interval, ns)."""
    for interval, ns in overlaps(recording.of_thread[wait['waker']], start, end):
        if interval['state'] == 'L' and interval.get('context') == 'task' and depth < 32:
            yield from behind(recording, interval, max(start, interval['start']),
                              min(end, interval['end']), depth + 1)
        else:
            yield interval, ns


def activity(interval):
    """What an interval counts as in a sum."""
    if interval['state'] in 'RC':
        return interval['state'], '', ''
    return interval['state'], interval.get('syscall', ''), interval.get('name', '')


def activity_text(what):
    state, syscall, name = what
    return (f'{state}  {DOING[state]}' + (f' in {syscall}' if syscall else '') +
            (f' of {name}' if name else ''))


def contended_lock(recording):
    """The waits for the futex that cost its threads most."""
    locks = defaultdict(list)
    for wait in recording.waits('L'):
        if wait.get('context') == 'task':
            locks[wait['pid'], wait.get('object_id')].append(wait)
    shared = [waits for waits in locks.values() if len({w['tid'] for w in waits}) > 1]
    return max(shared, key=lambda waits: sum(map(length, waits)), default=[])


def tally(stretches):
    """How long and how often each activity is among the stretches."""
    spent, times = Counter(), Counter()
    for interval, ns in stretches:
        spent[activity(interval)] += ns
        times[activity(interval)] += 1
    return spent, times


def say_who_held(longest, stretches):
    held = Counter()
    for interval, ns in stretches:
        held[interval['tid'], interval['comm']] += ns
    holder, comm = held.most_common(1)[0][0]
    if holder == longest['waker']:
        print(f'It was woken by {comm}, which had the lock and meanwhile was')
    else:
        print(f"It was woken by {longest['waker_comm']}, which had been in the queue before it;"
              f'\nthe lock had mostly been with {comm}.  Meanwhile those who had it were')


def account_of_lock(recording):
    waits = contended_lock(recording)
    if not waits:
        print('A LOCK: no two threads waited for the same one.')
        return
    longest = max(waits, key=length)
    total = sum(map(length, waits))
    threads = len({wait['tid'] for wait in waits})
    print(f"A LOCK: {longest['comm']} waited {ms(length(longest))} for it, the longest of "
          f'{len(waits)} such waits,\n{ms(total)} in all, by {threads} threads.')
    stretches = list(behind(recording, longest, longest['start'], longest['end']))
    if not stretches:
        print('The recording does not show who had it.')
        return
    say_who_held(longest, stretches)
    spent, times = tally(stretches)
    for what, ns in spent.most_common(3):
        print(f'  {ms(ns):>10} {percent(ns, length(longest))}  {activity_text(what)}, '
              f'{times[what]} times')
    print('The wait, and the longest stretches behind it:')
    for interval in [longest] + [i for i, _ in sorted(stretches, key=lambda s: -s[1])[:3]]:
        print(recording.line(interval))
    every, _ = tally(s for w in waits for s in behind(recording, w, w['start'], w['end']))
    what, ns = every.most_common(1)[0]
    print(f'Of all the waiting for this lock, {percent(ns, total).strip()} is: '
          f'{activity_text(what)}')


def who_ran(recording, waits):
    """Who had the CPUs for which these waits waited."""
    had = Counter()
    for wait in waits:
        for turn, ns in overlaps(recording.turns[wait['cpu']], wait['start'], wait['end']):
            had[group_name(turn['comm'])] += ns
    return had


def account_of_cpu(recording):
    ready, ran, name = defaultdict(list), Counter(), {}
    for interval in recording.intervals:
        pid = interval['pid']
        if interval['state'] == 'C':
            ready[pid].append(interval)
            name[pid] = group_name(interval['comm'])
        elif interval['state'] == 'R':
            ran[pid] += length(interval)
    print('A CPU: time running, time ready to run but without a CPU, and who had it then.')
    order = sorted(ready, key=lambda pid: -sum(map(length, ready[pid])))
    for pid in order[:5]:
        total = sum(map(length, ready[pid]))
        had = ', '.join(f'{who} {percent(ns, total).strip()}'
                        for who, ns in who_ran(recording, ready[pid]).most_common(3))
        print(f'  {name[pid]:<9} ran {ms(ran[pid]):>9}  ready {ms(total):>9}  {had}')
    if not order:
        return
    longest = max(ready[order[0]], key=length)
    print(f'The longest wait of {name[order[0]]}, and the longest turns of others in it:')
    turns = overlaps(recording.turns[longest['cpu']], longest['start'], longest['end'])
    for interval in [longest] + [i for i, _ in sorted(turns, key=lambda s: -s[1])[:3]]:
        print(recording.line(interval))


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: account.py SONDE CAPTURE')
    recording = Recording(*sys.argv[1:])
    account_of_lock(recording)
    print()
    account_of_cpu(recording)
    if recording.info['lost']:
        print(f"\n{recording.info['lost']} records were lost: what is said here may be too little.")


main()
