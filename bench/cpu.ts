import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

let ticks: number | null = null;
/** Clock ticks per second, the unit of /proc's CPU times. */
const ticksPerSecond = (): number => (ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })));

interface ProcessTimes {
  pid: number;
  parent: number;
  own: number;
  /** CPU seconds of children that have ended. */
  ended: number;
}

function timesOf(pid: number | string): ProcessTimes | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name, in brackets, may contain anything.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
  return { pid: Number(pid), parent: fields[1] ?? 0, own: user + system, ended: endedUser + endedSystem };
}

/** CPU seconds of a process. */
export const processCpu = (pid: number): number => (timesOf(pid)?.own ?? 0) / ticksPerSecond();

/** The running children of a process, with their command lines. */
export const childrenOf = (parent: number): { pid: number; command: string }[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && timesOf(name)?.parent === parent)
    .map((name) => ({ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }));

/** CPU seconds of a process and all its children, including ended ones. */
export function treeCpu(root: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(timesOf);
  const inside = new Set([root]);
  for (let before = 0; before !== inside.size;) {
    before = inside.size;
    for (const times of all) if (times !== null && inside.has(times.parent)) inside.add(times.pid);
  }
  const used = all.map((times) => (times !== null && inside.has(times.pid) ? times.own + times.ended : 0));
  return used.reduce((sum, one) => sum + one, 0) / ticksPerSecond();
}

/**
 * CPU seconds of the machine so far: total, in processes (without interrupts, which belong to none), idle, and stolen by the
 * hypervisor.
 */
export function machineCpu(): { all: number; inProcesses: number; idle: number; stolen: number } {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.trim().split(/\s+/).slice(1, 9).map(Number);
  const seconds = fields.map((value) => value / ticksPerSecond());
  return {
    all: seconds.reduce((sum, one) => sum + one, 0),
    inProcesses: seconds.slice(0, 3).reduce((sum, one) => sum + one, 0),
    idle: (seconds[3] ?? 0) + (seconds[4] ?? 0),
    stolen: seconds[7] ?? 0,
  };
}

/** Redis's own figures: CPU seconds (with its background children), calls of scripts, bytes in use. */
export async function redisUse(redis: Redis): Promise<{ cpu: number; scriptCalls: number; bytes: number }> {
  const text = await redis.info('everything');
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  const cpu = ['sys', 'user', 'sys_children', 'user_children'].map((part) =>
    number(new RegExp(`^used_cpu_${part}:([\\d.]+)`, 'm')),
  );
  return {
    cpu: cpu.reduce((sum, one) => sum + one, 0),
    scriptCalls: number(/^cmdstat_fcall:calls=(\d+)/m),
    bytes: number(/^used_memory:(\d+)/m),
  };
}
