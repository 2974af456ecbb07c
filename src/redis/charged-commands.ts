import type { Command, Redis } from 'ioredis';
import { type Bill, currentBill, inTurnOf } from '../pacing/turns.ts';

type Stream = Parameters<Redis['sendCommand']>[1];

/** The members of a command that the declared type hides, or declares as read-only. */
interface Settled {
  resolve: (reply: unknown) => void;
  reject: (error: Error) => void;
}

interface Batch {
  exec: (...given: unknown[]) => Promise<unknown>;
}

/** By how much a reply moves the typical time up or down. */
const STEP = 0.05;
/** Commands that take up to so many times the typical time are charged for their bytes only: waiting is not their fault. */
const TYPICAL = 2;

/**
 * Charges the commands of requests to their bills; each reply is the beginning of another turn. Commands outside of turns are not
 * affected: those of events, of workers, and of work for all requests. Redis reports no times, so the time of a command is how
 * long it took beyond what commands usually take on this connection, since the reply before it. Commands answered together
 * share it. `isPassedOn`: which commands another charged connection sends.
 */
export function chargeCommands(redis: Redis, isPassedOn: (command: Command) => boolean = () => false): void {
  const replied: { bill: Bill; sentMs: number; bytes: number }[] = [];
  let typicalMs = 1;
  let readMs = -Infinity;
  const settle = (): void => {
    const nowMs = performance.now();
    for (const { bill, sentMs, bytes } of replied) {
      const ms = nowMs - Math.max(sentMs, readMs);
      typicalMs *= ms > typicalMs ? 1 + STEP : 1 - STEP;
      bill.tookFromRedis(bytes, Math.max(0, ms - TYPICAL * typicalMs) / replied.length);
    }
    replied.length = 0;
    readMs = nowMs;
  };
  // Runs after the client's own listener, which has settled the commands.
  redis.on('connect', () => redis.stream.on('data', settle));

  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command: Command, stream?: Stream): unknown => {
    const bill = currentBill();
    if (bill === null || stream !== undefined || isPassedOn(command)) return send(command, stream);
    const sentMs = performance.now();
    const sent = command as unknown as Settled;
    const { resolve, reject } = sent;
    sent.resolve = (reply) => {
      replied.push({ bill, sentMs, bytes: bytesOf(command.args) + bytesOf(reply) });
      bill.lane.goOn(bill, () => resolve(reply));
    };
    sent.reject = (error) => bill.lane.goOn(bill, () => reject(error));
    return send(command);
  };
  for (const name of ['pipeline', 'multi'] as const) {
    const create = redis[name].bind(redis) as (...given: unknown[]) => Batch;
    (redis as unknown as Record<string, typeof create>)[name] = (...given) => {
      const batch = create(...given);
      const exec = batch.exec.bind(batch);
      batch.exec = (...callback) => {
        const bill = currentBill();
        if (bill === null || callback.length > 0) return exec(...callback);
        const sentMs = performance.now();
        const answered = exec().then((replies) => {
          replied.push({ bill, sentMs, bytes: bytesOf(replies) });
          return replies;
        });
        return inTurnOf(bill, answered);
      };
      return batch;
    };
  }
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value.length;
  if (!Array.isArray(value)) return 8;
  let bytes = 0;
  for (const each of value) bytes += bytesOf(each);
  return bytes;
}
