import type { Static } from 'typebox';
import { LiveQuery } from '../domain/notifications/live.ts';
import {
  closingJson,
  type ClosingReason,
  type LiveMessage,
  type LiveSink,
  reconnectMs,
  type SlowReaders,
} from '../engine/live/stream-sink.ts';
import type { LiveAdmission } from '../engine/live/streams.ts';
import { countOpening } from './access/auth.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { framingFault, readHead, requestIdOf, sizeFault } from './request-head.ts';
import { errorResponse, failureResponse, NOSNIFF, refusedAfterClose, write } from './respond.ts';
import {
  type HttpRequest,
  type HttpResponse,
  type SocketContext,
  uws,
  type WebSocket,
  type WebSocketBehavior,
} from './uws.ts';
import { queryParser } from './validation.ts';

/** Limit for data that waits for a slow client, beyond what its connection buffers. Exceeding it closes the connection. */
const MAX_WAITING_BYTES = 1_048_576;

/** The open connections of this process. */
const connections = new Set<LiveConnection>();

/** Common part of live streams over server-sent events and WebSocket: the end of a connection, and its waiting data. */
abstract class LiveConnection implements LiveSink {
  protected open = true;
  protected ending = false;
  readonly holder: string;
  private readonly slowReaders: SlowReaders;
  private listener: (() => void) | null = null;
  private wakes: (() => void)[] = [];

  constructor({ slowReaders, holder }: Pick<LiveAdmission, 'slowReaders' | 'holder'>) {
    this.slowReaders = slowReaders;
    this.holder = holder;
    connections.add(this);
  }

  abstract send(messages: readonly LiveMessage[]): void;
  abstract heartbeat(id: string): void;
  abstract end(reason: ClosingReason): void;
  /** Calls a function while uWS collects what is written to this connection. */
  abstract cork(work: () => void): void;
  /** Bytes that wait for the client in this process. */
  protected abstract get bytes(): number;
  /** Closes the connection immediately, which calls `gone`. */
  protected abstract close(): void;

  /** Calls a function once when the connection is gone or closed from here; immediately if it already is. */
  onGone(listener: () => void): void {
    if (this.open) this.listener = listener;
    else listener();
  }

  drained(): Promise<void> {
    if (!this.open || this.bytes === 0) return Promise.resolve();
    return new Promise((resolve) => void this.wakes.push(resolve));
  }

  readonly gone = (): void => {
    if (!this.open) return;
    this.open = false;
    connections.delete(this);
    this.released();
    this.slowReaders.note(this, 0);
    this.wake();
    this.listener?.();
  };

  readonly cut = (): void => {
    if (!this.open) return;
    this.close();
    this.gone();
  };

  /** Call this after each change of the waiting data. `took`: the client read some of it. */
  protected noteWaiting(took = false): void {
    if (!this.open) return;
    const { bytes } = this;
    this.slowReaders.note(this, bytes, took);
    if (bytes === 0) this.wake();
  }

  protected released(): void {}

  private wake(): void {
    for (const wake of this.wakes.splice(0)) wake();
  }
}

/** Bytes passed to a connection at once. uWS keeps them until the client reads them. */
const PIECE_BYTES = 65_536;
const RETRY_MS = 2_000;

/** Proxies must neither cache nor buffer the stream, which closes the connection. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  Connection: 'close',
  ...NOSNIFF,
};

/** Starts a stream of server-sent events on an open response. Returns the function to call when the connection is gone. */
export function openEventStream(
  res: HttpResponse,
  admission: LiveAdmission,
  headers: Readonly<Record<string, string>>,
): () => void {
  res.cork(() => {
    for (const [name, value] of [...Object.entries(HEADERS), ...Object.entries(headers)]) res.writeHeader(name, value);
    res.write(`retry: ${RETRY_MS}\n\n`);
  });
  const stream = new EventStream(res, admission);
  stream.onGone(admission.start(stream));
  return stream.gone;
}

/** A message as an event. Its JSON contains no line breaks. */
const eventText = ({ id, type, json }: LiveMessage): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

/** Server-sent events as a sink. uWS buffers without limit, so it gets one piece at a time. */
class EventStream extends LiveConnection {
  private readonly res: HttpResponse;
  private flows = true;
  private waiting: string[] = [];
  private waitingBytes = 0;

  constructor(res: HttpResponse, admission: LiveAdmission) {
    super(admission);
    this.res = res;
    res.onWritable(() => this.writable());
  }

  send(messages: readonly LiveMessage[]): void {
    this.write(messages.map(eventText));
  }

  /** An ID without data: the browser remembers it, and the page sees no event. */
  heartbeat(id: string): void {
    this.write([`: heartbeat\nid: ${id}\n\n`]);
  }

  end(reason: ClosingReason): void {
    if (!this.open || this.ending) return;
    const retryMs = reconnectMs(reason);
    const retry = retryMs === null ? '' : `retry: ${retryMs}\n`;
    this.ending = true;
    this.add([`${retry}event: closing\ndata: ${closingJson(reason, retryMs)}\n\n`]);
  }

  cork(work: () => void): void {
    this.res.cork(work);
  }

  protected get bytes(): number {
    return this.waitingBytes + (this.flows ? 0 : PIECE_BYTES);
  }

  protected close(): void {
    this.res.close();
  }

  protected override released(): void {
    this.drop();
  }

  private write(texts: readonly string[]): void {
    if (!this.open || this.ending) return;
    this.add(texts);
    if (this.waitingBytes <= MAX_WAITING_BYTES) return;
    // The client would not read the waiting data in time. It reconnects with its last ID and gets the data again.
    this.drop();
    this.end('slow_reader');
  }

  private add(texts: readonly string[]): void {
    for (const text of texts) {
      this.waiting.push(text);
      this.waitingBytes += Buffer.byteLength(text);
    }
    if (this.flows) this.res.cork(() => this.handOver());
    this.handedOver(false);
  }

  private handOver(): void {
    let at = 0;
    while (this.flows && at < this.waiting.length) {
      let piece = '';
      while (at < this.waiting.length && piece.length < PIECE_BYTES) piece += this.waiting[at++]!;
      this.waitingBytes -= Buffer.byteLength(piece);
      this.flows = this.res.write(piece);
    }
    this.waiting.splice(0, at);
  }

  private writable(): boolean {
    if (!this.open) return true;
    this.res.cork(() => {
      // uWS sends buffered data only with the next write, so write a comment if nothing else waits.
      this.flows = this.waiting.length > 0 || this.res.write(':\n\n');
      this.handOver();
    });
    this.handedOver(true);
    return true;
  }

  private handedOver(took: boolean): void {
    if (this.ending && this.bytes === 0) {
      this.res.cork(() => void this.res.end(''));
      this.gone();
    } else this.noteWaiting(took);
  }

  private drop(): void {
    this.waiting = [];
    this.waitingBytes = 0;
  }
}

export const LIVE_SOCKET_PATH = '/v1/live/ws';

/** Clients have no messages to send. */
const MAX_MESSAGE_BYTES = 1_024;
/** Maximum number of frames (pings and pongs) that a client may send within a period. */
const MOST_FRAMES = 50;
const FRAMES_MS = 10_000;
/** A connection that is silent for this long is dead. uWS sends pings in time. */
const IDLE_S = 60;
const LAST_MESSAGE_MS = 5_000;
/** Close codes from RFC 6455 and IANA's registry, and one of our own for cases where reconnecting does not help. */
const CODES: Readonly<Record<ClosingReason, number>> = {
  shutting_down: 1012,
  slow_reader: 1013,
  too_many_frames: 1008,
  internal_error: 1011,
  key_revoked: 4401,
  key_expired: 4401,
  session_ended: 4401,
  tenant_gone: 4401,
};

/** Data of a connection. uWS copies the fields of the object. */
interface SocketData {
  readonly opened: { ws: WebSocket<SocketData> | null; sink: SocketSink | null };
}

/** Accepts WebSocket requests. Checks the ticket before the upgrade, so that a refusal is an HTTP answer. */
export function liveSocket(context: ExchangeContext): WebSocketBehavior<SocketData> {
  const readQuery = queryParser(LiveQuery, { refusesUnknown: true });
  return {
    maxPayloadLength: MAX_MESSAGE_BYTES,
    // Messages are limited before they are sent. This limits answers to pings, which would otherwise queue without bound.
    maxBackpressure: 2 * MAX_WAITING_BYTES,
    closeOnBackpressureLimit: true,
    idleTimeout: IDLE_S,
    sendPingsAutomatically: true,
    compression: uws().DISABLED,
    upgrade: (res, req, socket) => void upgrade(context, readQuery, { res, req, socket }),
    // Must do nothing else; see `upgraded`.
    open: (ws) => void (ws.getUserData().opened.ws = ws),
    message: heard,
    ping: heard,
    pong: heard,
    drain: (ws) => ws.getUserData().opened.sink?.took(),
    close: (ws) => {
      // uWS reports the end of other connections only (`App.filter`).
      context.connections.closed();
      const { opened } = ws.getUserData();
      opened.ws = null;
      opened.sink?.gone();
    },
  };
}

const heard = (ws: WebSocket<SocketData>): void => ws.getUserData().opened.sink?.heard();

async function upgrade(
  context: ExchangeContext,
  readQuery: (raw: string) => unknown,
  { res, req, socket }: { res: HttpResponse; req: HttpRequest; socket: SocketContext },
): Promise<void> {
  if (refusedAfterClose(res)) return;
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  // Read everything now, because the request is invalid after the first await.
  const head = readHead(req);
  const requestId = requestIdOf(head.requestId);
  const [key, protocol, extensions] = ['key', 'protocol', 'extensions'].map((name) =>
    req.getHeader(`sec-websocket-${name}`),
  ) as [string, string, string];
  const rawQuery = (req.getQuery() as string | undefined) ?? '';
  const lastEventId = req.getHeader('last-event-id') || null;
  const fault = framingFault(head) ?? sizeFault(req, head.bytes);
  const how = { head: false, close: true, requestId, cors: null };
  if (fault !== null) return write(res, errorResponse(fault), how);
  let admission: LiveAdmission;
  try {
    const query = readQuery(rawQuery) as Static<typeof LiveQuery>;
    admission = await context.services.live.open({
      ticket: query.ticket,
      lastEventId: lastEventId ?? query.lastEventId ?? null,
      count: (grant) => void countOpening(context, grant),
    });
  } catch (error) {
    if (!aborted) write(res, failureResponse(error, context, { operation: 'live_ws', requestId }), how);
    return;
  }
  if (aborted) return admission.cancel();
  const sink = upgraded(res, admission, (data) => {
    // Write the status first, because a header would set it to 200.
    res.writeStatus('101 Switching Protocols').writeHeader('X-Request-Id', requestId);
    res.upgrade(data, key, protocol, extensions, socket);
  });
  if (sink === null) return admission.cancel();
  sink.onGone(admission.start(sink));
}

/**
 * Upgrades a response and returns the sink; null if the connection is already closed again. Until uWS 20.79, `cork` reads
 * the response's state again after its function returned, from memory that no longer belongs to the response, and may close
 * the connection depending on what was written there (uWebSockets pull request 1929; neither release in use contains the
 * fix). It does not while another connection is corked. If there is no other one, nothing in between may allocate memory, and
 * about one connection in 1,000 is still closed under load; its client connects again.
 */
function upgraded(res: HttpResponse, admission: LiveAdmission, upgrade: (data: SocketData) => void): SocketSink | null {
  const opened: SocketData['opened'] = { ws: null, sink: null };
  const data = { opened };
  const corked = (): void => void res.cork(() => upgrade(data));
  const [other] = connections;
  if (other === undefined) corked();
  else other.cork(corked);
  return (opened.sink = opened.ws && new SocketSink(opened.ws, admission));
}

class SocketSink extends LiveConnection {
  private readonly ws: WebSocket<SocketData>;
  private timer: NodeJS.Timeout | undefined;
  /** Frames from the client since `framesSinceMs`. */
  private frames = 0;
  private framesSinceMs = 0;

  constructor(ws: WebSocket<SocketData>, admission: LiveAdmission) {
    super(admission);
    this.ws = ws;
  }

  send(messages: readonly LiveMessage[]): void {
    this.write(messages.map(({ json }) => json));
  }

  heartbeat(id: string): void {
    this.write([JSON.stringify({ id, type: 'heartbeat' })]);
  }

  end(reason: ClosingReason): void {
    if (!this.open || this.ending) return;
    this.ending = true;
    this.ws.cork(() => {
      this.ws.send(closingJson(reason, reconnectMs(reason)));
      this.ws.end(CODES[reason], reason);
    });
    // A client that does not read does not answer the close frame either.
    if (this.open) this.timer = setTimeout(this.cut, LAST_MESSAGE_MS).unref();
  }

  /** Counts a frame from the client. Closes the connection if there are too many. */
  heard(): void {
    if (!this.open || this.ending) return;
    const nowMs = performance.now();
    if (nowMs - this.framesSinceMs >= FRAMES_MS) {
      this.frames = 0;
      this.framesSinceMs = nowMs;
    }
    this.frames += 1;
    // The answer to a ping may wait for the client.
    if (this.frames <= MOST_FRAMES) this.noteWaiting();
    else this.end('too_many_frames');
  }

  took(): void {
    this.noteWaiting(true);
  }

  cork(work: () => void): void {
    this.ws.cork(work);
  }

  protected get bytes(): number {
    return this.ws.getBufferedAmount();
  }

  protected close(): void {
    this.ws.close();
  }

  protected override released(): void {
    clearTimeout(this.timer);
  }

  private write(texts: readonly string[]): void {
    if (!this.open || this.ending) return;
    this.ws.cork(() => {
      for (const text of texts) if (this.bytes <= MAX_WAITING_BYTES) this.ws.send(text);
    });
    if (!this.open) return;
    // The client reconnects with its last ID and gets the omitted messages.
    if (this.bytes > MAX_WAITING_BYTES) this.end('slow_reader');
    else this.noteWaiting();
  }
}
