import { LaurelError, warn, warnUnlessTransient } from './errors.ts';
import type { EventResult, UserRequest } from './generated.ts';
import { newIdempotencyKey, validKey } from './idempotency-key.ts';
import type { Laurel } from './laurel.ts';
import { memoryStorage, type QueuedEvent, type QueueStorage } from './queue-storage.ts';
import { backoffMs, path, sleep } from './transport.ts';
import { isoTime } from './user.ts';
import { onWake } from './wake.ts';

export interface QueueOptions {
  /** Default: memory, which a reload loses. */
  storage?: QueueStorage;
  /** How many events may wait; a further `track` rejects with `queue_full`. Default: 1,000. */
  maxEvents?: number;
  /**
   * If Laurel refuses the time of an event, because the key may not say when something happened or because it is too long ago:
   * `now` sends the event without its time, so that it counts when it arrives; `refuse` gives it to `onRefused`. Default: `now`.
   */
  late?: 'now' | 'refuse';
  /** Gets the answer to each event. */
  onResult?: (event: QueuedEvent, result: EventResult) => void;
  /** Gets each event that Laurel refused; it has left the queue. By default it is written to the console. */
  onRefused?: (event: QueuedEvent, error: LaurelError) => void;
  /**
   * Gets the error of each failed attempt; the event stays, and is sent again later. By default those that need a change, such
   * as a wrong key, are written to the console.
   */
  onError?: (error: unknown) => void;
}

/** Options of a queued event. */
export interface QueuedTrackOptions {
  /** Values of event attributes, by key. */
  attributes?: Record<string, string>;
  /** Default: the present. */
  occurredAt?: Date | string;
  /** By default random. */
  idempotencyKey?: string;
  /** Default: the user of the client. */
  user?: string | UserRequest;
}

const LONGEST_WAIT_MS = 60_000;

/** Codes that say something about the key or the address, not about the event. */
const NOT_THE_EVENT = [
  'unexpected_answer',
  'insufficient_scope',
  'tenant_required',
  'unknown_path',
  'method_not_allowed',
];

const isAboutEvent = (error: unknown): error is LaurelError =>
  error instanceof LaurelError &&
  !error.isTransient &&
  error.status >= 400 &&
  error.status !== 401 &&
  !NOT_THE_EVENT.includes(error.code);

/** Whether an event that waits is the same as another with its idempotency key. */
const isSame = (one: QueuedEvent, other: QueuedEvent, isDated: boolean): boolean => {
  const content = ({ event }: QueuedEvent): string =>
    JSON.stringify([
      event.value,
      Object.entries(event.attributes ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
      isDated && Date.parse(event.occurredAt),
    ]);
  return content(one) === content(other);
};

/**
 * Stores events and sends them one after another, in their order, as soon as there is a connection. Each gets its time and its
 * idempotency key when it is stored, so it is counted once however often it is sent. A client with a `user` sends only the
 * events that were tracked for this user; those of others wait until their clients are back.
 */
export function createQueue(laurel: Laurel, options: QueueOptions = {}) {
  const { storage = memoryStorage(), maxEvents = 1_000, late = 'now', onError = warnUnlessTransient } = options;
  const onRefused =
    options.onRefused ?? ((event: QueuedEvent, error: LaurelError) => warn('refused event', event, error));
  const owner = laurel.userId ?? null;
  const closing = new AbortController();
  /** Ends the wait between two attempts. */
  let waiting = new AbortController();
  let adding: Promise<unknown> = Promise.resolve();
  let sending: Promise<void> | undefined;
  let hasMore = false;
  let maySendTime = true;

  const own = async (): Promise<QueuedEvent[]> => (await storage.load()).filter((event) => event.owner === owner);

  function send({ metric, event, idempotencyKey }: QueuedEvent, isDated: boolean): Promise<EventResult> {
    const { occurredAt: _occurredAt, ...undated } = event;
    const body = isDated ? event : undated;
    const request = { method: 'POST', path: path('metrics', metric, 'event'), body, idempotencyKey } as const;
    return laurel.send(request, { retries: 0, signal: closing.signal });
  }

  /** Sends an event with its time, and without it if that is refused. */
  async function sendOnce(event: QueuedEvent): Promise<EventResult> {
    const isDated = maySendTime || late === 'refuse';
    try {
      return await send(event, isDated);
    } catch (error) {
      if (!isDated || late === 'refuse' || !isAboutEvent(error) || (error.status !== 403 && error.status !== 422))
        throw error;
      const result = await send(event, false);
      // The key may send no time at all, while another event may be recent enough.
      if (error.status === 403) maySendTime = false;
      return result;
    }
  }

  /** Sends an event until it has an answer. Rejects when the queue is closed. */
  async function settle(event: QueuedEvent): Promise<void> {
    for (let attempts = 0; ; attempts += 1) {
      try {
        const result = await sendOnce(event);
        await storage.remove(event.id);
        options.onResult?.(event, result);
        return;
      } catch (error) {
        if (closing.signal.aborted) throw error;
        if (isAboutEvent(error)) {
          await storage.remove(event.id);
          onRefused(event, error);
          return;
        }
        await wait(attempts, error);
      }
    }
  }

  /** Reports an error, and waits until the next attempt, or until `flush`. */
  async function wait(attempts: number, error: unknown): Promise<void> {
    onError(error);
    const least = error instanceof LaurelError ? (error.retryAfterMs ?? 0) : 0;
    waiting = new AbortController();
    await sleep(backoffMs(attempts, { least, most: LONGEST_WAIT_MS }), waiting.signal).catch(() => undefined);
    closing.signal.throwIfAborted();
  }

  async function sendAll(): Promise<void> {
    for (let attempts = 0; ; attempts += 1) {
      try {
        for (let events = await own(); events.length > 0; events = await own()) {
          for (const event of events) await settle(event);
          attempts = 0;
        }
        return;
      } catch (error) {
        if (closing.signal.aborted) return;
        // The storage failed.
        await wait(attempts, error).catch(() => undefined);
      }
    }
  }

  async function run(): Promise<void> {
    while (hasMore && !closing.signal.aborted) {
      hasMore = false;
      const work = storage.exclusively === undefined ? sendAll() : storage.exclusively(sendAll, closing.signal);
      await work.catch(() => undefined);
    }
    sending = undefined;
  }

  function start(): void {
    if (closing.signal.aborted) return;
    hasMore = true;
    sending ??= run();
  }

  async function add(event: QueuedEvent, isDated: boolean, isOwnKey: boolean): Promise<string> {
    if (isOwnKey) {
      const isTwin = (other: QueuedEvent): boolean =>
        other.idempotencyKey === event.idempotencyKey &&
        other.metric === event.metric &&
        other.event.user.id === event.event.user.id;
      const twin = (await storage.load()).find(isTwin);
      if (twin !== undefined && isSame(twin, event, isDated)) return event.idempotencyKey;
      if (twin !== undefined)
        throw new LaurelError(
          'idempotency_key_reused',
          `idempotencyKey: another event waits with '${event.idempotencyKey}'.`,
        );
    }
    if (!(await storage.add(event, maxEvents)))
      throw new LaurelError('queue_full', `${maxEvents} events already wait to be sent.`);
    start();
    return event.idempotencyKey;
  }

  const flush = async (): Promise<void> => {
    start();
    waiting.abort();
    await sending;
  };
  const stopWaking = onWake(() => void flush());
  // What an earlier page left.
  start();

  return {
    /**
     * Stores an event, and resolves with its idempotency key when it is stored. Rejects with `queue_full`, with
     * `idempotency_key_reused`, with `invalid_call`, or if it cannot be stored.
     */
    track: async (metric: string, value = 1, track: QueuedTrackOptions = {}): Promise<string> => {
      // What cannot be sent must not be stored: it would keep all later events waiting.
      path('metrics', metric, 'event');
      const { attributes, occurredAt, idempotencyKey, user = laurel.user().sent } = track;
      const id = newIdempotencyKey();
      const event = {
        user: typeof user === 'string' ? { id: user } : user,
        value,
        ...(attributes && { attributes }),
        occurredAt: isoTime(occurredAt ?? new Date()),
      };
      const queued = { id, owner, metric, event, idempotencyKey: validKey(idempotencyKey ?? id) };
      const added = adding.then(() => add(queued, occurredAt !== undefined, idempotencyKey !== undefined));
      adding = added.catch(() => undefined);
      return added;
    },
    /** How many events of this client wait. */
    size: async (): Promise<number> => (await own()).length,
    /** Sends at once, without the wait after a failed attempt, and resolves when no event waits or the queue is closed. */
    flush,
    /** Stops sending. What waits stays in the storage. */
    close: async (): Promise<void> => {
      stopWaking();
      closing.abort();
      waiting.abort();
      await adding;
      await sending;
    },
  };
}

export type Queue = ReturnType<typeof createQueue>;
