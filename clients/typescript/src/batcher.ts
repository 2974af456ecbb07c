import { invalidCall, LaurelError } from './errors.ts';
import type { BatchResult } from './generated.ts';
import type { Laurel, ListedEvent } from './laurel.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import { isoTime } from './user.ts';

export interface BatcherOptions {
  /** A batch is sent when it has this many events. Default, and most: 1,000. */
  maxEvents?: number;
  /** A batch is sent this many milliseconds after its first event. Default: 20. */
  maxWaitMs?: number;
  /** How many events may wait; a further `track` rejects with `queue_full`. Default: 10,000. */
  maxPending?: number;
  /** How often a batch is repeated, with the same idempotency keys, before its events reject. Default: 10, about a minute. */
  retries?: number;
}

interface Pending {
  event: ListedEvent;
  resolve: (result: BatchResult) => void;
  reject: (error: unknown) => void;
}

/**
 * Collects events on a server and sends them in batches, one batch after another, so events stay in their order. Events that
 * wait are lost when the process ends: call `close` before, and track again what has no result, with the same
 * `idempotencyKey`. Needs `adminUrl` and an admin key.
 */
export function createBatcher(laurel: Laurel, options: BatcherOptions = {}) {
  const { maxEvents = 1_000, maxWaitMs = 20, maxPending = 10_000, retries = 10 } = options;
  let pending: Pending[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | undefined;
  let inFlight = 0;
  let isClosed = false;

  async function send(batch: Pending[]): Promise<void> {
    try {
      const results = await laurel.events(
        batch.map(({ event }) => event),
        { retries },
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]!;
        if (result.status < 400) resolve(result);
        else reject(new LaurelError(result.code ?? 'unexpected_answer', result.error ?? '', { status: result.status }));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async function sendAll(): Promise<void> {
    while (pending.length > 0) {
      const batch = pending.slice(0, maxEvents);
      pending = pending.slice(maxEvents);
      inFlight = batch.length;
      await send(batch);
      inFlight = 0;
    }
    sending = undefined;
  }

  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    await (sending ??= sendAll());
  };

  return {
    /** Resolves with the event's result. Rejects with a `LaurelError` if it is refused, or if its batch has no answer. */
    track: async (event: ListedEvent): Promise<BatchResult> => {
      if (isClosed) throw invalidCall('The batcher is closed.');
      if (pending.length + inFlight >= maxPending)
        throw new LaurelError('queue_full', `${maxPending} events already wait to be sent.`);
      // An invalid time must not fail the batch.
      const { occurredAt } = event;
      const keyed = {
        ...event,
        ...(occurredAt !== undefined && { occurredAt: isoTime(occurredAt) }),
        idempotencyKey: event.idempotencyKey ?? newIdempotencyKey(),
      };
      const tracked = new Promise<BatchResult>((resolve, reject) => pending.push({ event: keyed, resolve, reject }));
      if (pending.length >= maxEvents) void flush();
      else timer ??= setTimeout(() => void flush(), maxWaitMs);
      return tracked;
    },
    /** Sends what waits, and resolves when it has results. */
    flush,
    /** Refuses further events, and resolves when those that wait have results. */
    close: async (): Promise<void> => {
      isClosed = true;
      await flush();
    },
  };
}

export type Batcher = ReturnType<typeof createBatcher>;
