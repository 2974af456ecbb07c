import type { Redis } from 'ioredis';
import { type Bill, currentBill } from '../pacing/turns.ts';
import { connectionOf, isOfCluster } from './endpoints.ts';

interface Waiting {
  key: string;
  bill: Bill | null;
  resolve: (value: Buffer | null) => void;
  reject: (error: unknown) => void;
}

/** Most values of a command: some 50 KB, at most a few MB. */
const MOST_VALUES = 64;

/** Reads that wait for the end of this turn of the event loop, by connection and slot. */
const waitingReads = new WeakMap<Redis, Map<number, Waiting[]>>();

/**
 * Reads the value of a key of a shard. Reads of the same turn of the event loop share a command: for the client and for Redis,
 * a command costs several times as much as a value. Each request goes on in a turn of its own, and pays for its value's bytes.
 */
export function readJoined(redis: Redis, shard: number, key: string): Promise<Buffer | null> {
  const bill = currentBill();
  return new Promise((resolve, reject) => {
    const reads = readsOf(connectionOf(redis, shard), shard);
    reads.push({ key, bill, resolve, reject });
  });
}

/** The reads to which one more of a shard can be added. In a cluster, a command may touch one shard only. */
function readsOf(redis: Redis, shard: number): Waiting[] {
  let bySlot = waitingReads.get(redis);
  if (bySlot === undefined) waitingReads.set(redis, (bySlot = new Map()));
  const slot = isOfCluster(redis) ? shard : 0;
  let reads = bySlot.get(slot);
  if (reads !== undefined && reads.length < MOST_VALUES) return reads;
  bySlot.set(slot, (reads = []));
  const [sent, slots] = [reads, bySlot];
  setImmediate(() => {
    if (slots.get(slot) === sent) slots.delete(slot);
    void send(redis, sent);
  });
  return reads;
}

async function send(redis: Redis, reads: readonly Waiting[]): Promise<void> {
  try {
    const values = await redis.mgetBuffer(reads.map(({ key }) => key));
    for (const [index, { key, bill, resolve }] of reads.entries()) {
      const value = values[index]!;
      bill?.tookFromRedis(key.length + (value?.length ?? 0), 0);
      goOn(bill, () => resolve(value));
    }
  } catch (error) {
    for (const { bill, reject } of reads) goOn(bill, () => reject(error));
  }
}

const goOn = (bill: Bill | null, settle: () => void): void => (bill === null ? settle() : bill.lane.goOn(bill, settle));
