import { LaurelError, reportThrown, warnUnlessTransient } from './errors.ts';
import type { LiveTicket, LiveTicketRequest, Messages } from './generated.ts';
import { backoffMs, queryText, sleep, type CallOptions, type Transport } from './transport.ts';
import { onWake } from './wake.ts';

/** The first message of a connection. */
export interface LiveReady {
  id: string;
  type: 'ready';
  /** Whether nothing was missed since the last message of the previous connection. */
  resumed: boolean;
}

/** Messages were missed: read again what you show. */
export interface LiveReset {
  id: string;
  type: 'reset';
  reason: string;
  /** Of a user's key: streak, points, achievements and leaderboards. */
  state: unknown;
}

/** With an admin key: one of a sample of the events. */
export interface LiveEvent {
  id: string;
  type: 'event';
  [field: string]: unknown;
}

/** All messages of a stream, by their types. */
export type LiveMessages = { [Type in keyof Messages]: Messages[Type] & { id: string } } & {
  ready: LiveReady;
  reset: LiveReset;
  event: LiveEvent;
};
export type LiveMessage = LiveMessages[keyof LiveMessages];

export interface LiveOptions {
  /** Keys of leaderboards whose changes to report, at most 20. */
  leaderboards?: string[];
  /** Only these types. */
  types?: (keyof Messages | 'event')[];
  /** With an admin key: only this user. */
  user?: string;
  /** Gets a ticket (`POST /v1/live/tickets`) for each connection. By default with the client's key. */
  ticket?: (request: LiveTicketRequest) => Promise<string>;
  /**
   * Reads the current state: after the first connection, and whenever messages were missed. Messages are held back until it
   * resolves, so what it reads is never newer than a message that follows, and nothing in between is missed.
   */
  read?: () => Promise<unknown>;
  /**
   * Gets the error of each failed connection or `read`; the stream goes on. By default those that need a change, such as a
   * wrong key, are written to the console.
   */
  onError?: (error: unknown) => void;
  /** By default WebSocket where it exists, otherwise server-sent events over `fetch`. */
  transport?: 'websocket' | 'fetch';
  /** Ends the stream. */
  signal?: AbortSignal;
}

/** Without a sign of life for so long, a connection counts as broken. Laurel sends one every 25 seconds. */
const SILENCE_MS = 60_000;
/** A page that comes back checks after a shorter silence: its timers may have stood still. */
const SILENCE_AT_WAKE_MS = 30_000;
/** How long a connection may take to close: a dead one does not answer. */
const CLOSING_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Messages that an iterator may leave unread. */
const MOST_UNREAD = 10_000;

interface Closing {
  type: 'closing';
  reason: string;
  reconnect: boolean;
  retryMs: number;
}
type Received = LiveMessage | Closing | { id: string; type: 'heartbeat' };

interface Connection {
  url: string;
  signal: AbortSignal;
  fetch: typeof globalThis.fetch;
  onMessage: (message: Received) => void;
  /** A sign of life, with the ID to resume from if it has one. */
  onAlive: (id?: string) => void;
}

/** Resolves when the connection ends. Rejects with `LaurelError` 401 if the ticket or ID is not valid. */
function overWebSocket({ url, signal, onMessage, onAlive }: Connection): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace(/^http/, 'ws'));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const close = (): void => {
      socket.close();
      timer = setTimeout(resolve, CLOSING_MS);
    };
    signal.addEventListener('abort', close, { once: true });
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      onAlive();
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(String(data)) as Received;
      onAlive('id' in message ? message.id : undefined);
      onMessage(message);
    };
    socket.onclose = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', close);
      // A browser does not say why a connection was refused.
      if (isOpen) resolve();
      else reject(new LaurelError('network', 'The live stream cannot be opened.'));
    };
  });
}

/** The same over server-sent events. */
async function overFetch({ url, signal, fetch, onMessage, onAlive }: Connection): Promise<void> {
  const response = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal });
  if (!response.ok || response.body === null)
    throw new LaurelError('network', `The live stream cannot be opened: ${response.status}.`, {
      status: response.status,
    });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (let rest = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      onAlive(/^id: ?(.*)$/m.exec(block)?.[1]);
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data !== undefined) onMessage(JSON.parse(data) as Received);
    }
  }
}

/** Calls a listener of the app. What it throws concerns neither other listeners nor the stream. */
export function callListener(listener: (message: never) => void, message: LiveMessage): void {
  try {
    (listener as (message: LiveMessage) => void)(message);
  } catch (error) {
    reportThrown(error);
  }
}

/** Opens a live stream, and opens it again whenever it breaks, without missing a message or reporting one twice. */
export function createLive({ url, fetch, send }: Transport, options: LiveOptions = {}) {
  const { types, user, read, onError = warnUnlessTransient } = options;
  let { leaderboards } = options;
  const ticketRequest = (): LiveTicketRequest => ({
    ...(leaderboards && { boards: leaderboards }),
    ...(types && { types }),
    ...(user && { userId: user }),
  });
  const ending = new AbortController();
  /** Ends the waits before further attempts. */
  let waiting = new AbortController();
  const endWaits = (): void => {
    const ended = waiting;
    waiting = new AbortController();
    ended.abort();
  };
  const listeners = new Map<string, Set<(message: never) => void>>();
  const iterators = new Set<(message: LiveMessage | null) => void>();
  let lastId: string | undefined;
  /** Ends the current connection. */
  let disconnect: () => void = () => undefined;
  /** Attempts in a row that failed. */
  let failures = 0;
  /** The connection's last sign of life, by the clock that goes on while the machine sleeps; undefined without a connection. */
  let aliveMs: number | undefined;
  /** Whether the current connection was ended because the next one reports other leaderboards. */
  let isReplaced = false;
  /** Messages that wait for `read`. */
  let held: LiveMessage[] | null = null;

  const stopWaking = onWake(() => {
    failures = 0;
    endWaits();
    if (aliveMs !== undefined && Date.now() - aliveMs > SILENCE_AT_WAKE_MS) disconnect();
  });
  const end = (): void => {
    stopWaking();
    ending.abort();
    endWaits();
  };
  options.signal?.addEventListener('abort', end, { once: true });
  if (options.signal?.aborted) end();

  const pause = async (attempts: number, least = 0): Promise<void> => {
    if (ending.signal.aborted) return;
    await sleep(backoffMs(attempts, { least, most: LONGEST_WAIT_MS }), waiting.signal).catch(() => undefined);
  };

  const askTicket =
    options.ticket ??
    (async (body: LiveTicketRequest): Promise<string> => {
      // The stream itself tries again, at once if the browser is online again.
      const call: CallOptions = { signal: ending.signal, retries: 0 };
      return (await send<LiveTicket>({ method: 'POST', path: '/live/tickets', body }, call)).ticket;
    });

  function deliver(message: LiveMessage): void {
    for (const type of [message.type, '*'])
      for (const listener of listeners.get(type) ?? []) callListener(listener, message);
    for (const push of iterators) push(message);
  }

  /** Reads the state until that succeeds, then delivers what came meanwhile. */
  async function readAgain(first: LiveMessage): Promise<void> {
    // A running read may have begun before the messages that were missed.
    const mine: LiveMessage[] = [];
    held = mine;
    deliver(first);
    for (let attempts = 0; held === mine; attempts += 1) {
      try {
        await read?.();
        break;
      } catch (error) {
        onError(error);
        await pause(attempts);
        if (ending.signal.aborted) return;
      }
    }
    if (held !== mine) return;
    held = null;
    for (const message of mine) deliver(message);
  }

  /** One connection, until it ends. Returns what Laurel said last about it, if it did. */
  async function connect(onReady: () => void): Promise<Closing | undefined> {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    disconnect = abort;
    const ticket = await askTicket(ticketRequest());
    ending.signal.addEventListener('abort', abort, { once: true });
    if (ending.signal.aborted) abort();
    // A socket that opens after the abort would stay open.
    if (controller.signal.aborted) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let closing: Closing | undefined;
    const onAlive = (id?: string): void => {
      // The next connection sends again what comes after the end of this one.
      if (controller.signal.aborted) return;
      if (id) lastId = id;
      aliveMs = Date.now();
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE_MS);
    };
    const onMessage = (message: Received): void => {
      if (controller.signal.aborted || message.type === 'heartbeat') return;
      if (message.type === 'closing') {
        closing = message;
        return;
      }
      if (message.type === 'ready') onReady();
      if (message.type === 'reset' || (message.type === 'ready' && !message.resumed)) void readAgain(message);
      else if (held === null) deliver(message);
      else held.push(message);
    };
    onAlive();
    try {
      const kind = options.transport ?? (typeof WebSocket === 'undefined' ? 'fetch' : 'websocket');
      const path = kind === 'websocket' ? '/v1/live/ws' : '/v1/live';
      const connection = {
        url: `${url}${path}${queryText({ ticket, lastEventId: lastId })}`,
        signal: controller.signal,
        fetch,
        onMessage,
        onAlive,
      };
      await (kind === 'websocket' ? overWebSocket(connection) : overFetch(connection));
      return closing;
    } catch (error) {
      // The error of an abort says nothing.
      if (!controller.signal.aborted) throw error;
      throw new LaurelError('network', 'The live stream gave no sign of life.', { cause: error });
    } finally {
      aliveMs = undefined;
      clearTimeout(timer);
      ending.signal.removeEventListener('abort', abort);
    }
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      let least = 0;
      isReplaced = false;
      try {
        const closing = await connect(() => (failures = 0));
        least = closing?.retryMs ?? 0;
      } catch (error) {
        if (ending.signal.aborted) break;
        if (!isReplaced) onError(error);
        if (error instanceof LaurelError) least = error.retryAfterMs ?? 0;
      }
      if (isReplaced) continue;
      const wait = pause(failures, least);
      failures += 1;
      await wait;
    }
    for (const push of iterators) push(null);
  }
  void run();

  /** Yields messages until the stream is closed. */
  async function* iterate(): AsyncGenerator<LiveMessage, void, void> {
    let unread: LiveMessage[] = [];
    let wake: () => void = () => undefined;
    const push = (message: LiveMessage | null): void => {
      if (message !== null) unread.push(message);
      if (unread.length > MOST_UNREAD) unread = [{ id: '', type: 'reset', reason: 'slow_reader', state: null }];
      wake();
    };
    iterators.add(push);
    try {
      while (!ending.signal.aborted) {
        for (let next = unread.shift(); next !== undefined; next = unread.shift()) yield next;
        if (ending.signal.aborted) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      iterators.delete(push);
    }
  }

  return {
    /** Calls `listener` with each message of a type, or of all types (`*`). Returns a function that ends this. */
    on: <Type extends keyof LiveMessages | '*'>(
      type: Type,
      listener: (message: Type extends keyof LiveMessages ? LiveMessages[Type] : LiveMessage) => void,
    ): (() => void) => {
      const ofType = listeners.get(type) ?? new Set();
      listeners.set(type, ofType.add(listener as (message: never) => void));
      return () => void ofType.delete(listener as (message: never) => void);
    },
    /** Yields messages from now on, until the stream is closed. */
    [Symbol.asyncIterator]: iterate,
    /** Reports the changes of these leaderboards from now on: connects again, without missing a message. */
    follow: (keys: string[]): void => {
      leaderboards = keys;
      isReplaced = true;
      disconnect();
    },
    close: end,
  };
}

export type Live = ReturnType<typeof createLive>;
