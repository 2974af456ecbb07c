import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterNode } from './cluster-node.ts';

/** Half of the time that Laurel waits for replicas. */
const SLOW_MS = 500;
/** How long after the replicas are fast again Laurel may still refuse writes. */
const AFTER_MS = 2_000;
/** How long one WAIT waits for more replicas than there are, which has Redis ask all of them. */
const WAIT_MS = 100;
const MORE_THAN_ALL = 99;
const PAUSE_MS = 50;

/**
 * Measures without Laurel how long replicas take to hold what their master has. On a busy machine this may be longer than
 * Laurel waits for them, and it rightly refuses writes.
 */
export class ReplicationWatch {
  private readonly slow: { fromMs: number; toMs: number }[] = [];
  private readonly ending = new AbortController();
  private readonly watching: Promise<unknown>;

  constructor(masters: readonly ClusterNode[]) {
    this.watching = Promise.all(masters.map((master) => this.watch(master)));
  }

  async end(): Promise<void> {
    this.ending.abort();
    await this.watching;
  }

  /** Whether replicas may have been too slow for a request. */
  wasSlow({ sentMs, atMs }: { sentMs: number; atMs: number }): boolean {
    return this.slow.some(({ fromMs, toMs }) => fromMs <= atMs && sentMs <= toMs + AFTER_MS);
  }

  private async watch(master: ClusterNode): Promise<void> {
    while (!this.ending.signal.aborted) {
      const fromMs = performance.now();
      await this.caughtUp(master).catch(() => undefined);
      const toMs = performance.now();
      if (toMs - fromMs > SLOW_MS) this.slow.push({ fromMs, toMs });
      await sleep(PAUSE_MS);
    }
  }

  /** Resolves when all replicas hold what the master had at the call. */
  private async caughtUp(master: ClusterNode): Promise<void> {
    const [offset] = await offsets(master);
    while (!this.ending.signal.aborted) {
      await master.command('WAIT', MORE_THAN_ALL, WAIT_MS);
      const [, ...held] = await offsets(master);
      if (held.length > 0 && held.every((one) => one >= offset)) return;
    }
  }
}

/** The master's replication offset, and those that its replicas reported. */
async function offsets(master: ClusterNode): Promise<[number, ...number[]]> {
  const [, offset, replicas] = (await master.command('ROLE')) as [string, number, [string, string, string][]];
  return [offset, ...replicas.map(([, , held]) => Number(held))];
}
