import type { LiveAdmission } from '../../engine/live/live.ts';
import { closingJson, type ClosingReason, type LiveMessage, reconnectMs } from '../../engine/live/live-sink.ts';
import { LiveQuery } from '../../domain/notifications/live.ts';
import type { Static } from 'typebox';
import { countOpening } from '../auth.ts';
import type { ExchangeContext } from '../exchange-context.ts';
import { framingFault, readHead, sizeFault } from '../request-head.ts';
import { requestIdOf } from '../request-id.ts';
import { refusedAfterClose, errorResponse, failureResponse, write } from '../respond.ts';
import {
  uws,
  type HttpRequest,
  type HttpResponse,
  type SocketContext,
  type WebSocket,
  type WebSocketBehavior,
} from '../uws.ts';
import type { Validation } from '../validation.ts';
import { LiveConnection, MAX_WAITING_BYTES } from './connection.ts';

export const LIVE_SOCKET_PATH = '/v1/live/ws';

/** Clients have no messages to send. */
const MAX_MESSAGE_BYTES = 1_024;
/** Most frames (pings and pongs) that a client may send within a period. */
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
export interface SocketData {
  readonly opened: { ws: WebSocket<SocketData> | null; sink: SocketSink | null };
}

/** Accepts WebSocket requests. Checks the ticket before the upgrade, so that a refusal is an HTTP answer. */
export function liveSocket(context: ExchangeContext, validation: Validation): WebSocketBehavior<SocketData> {
  const readQuery = validation.query(LiveQuery);
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
    close: (ws) => ws.getUserData().opened.sink?.gone(),
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
  sink.onGone(admission.start(sink));
}

/**
 * Upgrades a response and returns the sink. Until uWS 20.79, `cork` reads the response's state again after its function returned, from memory that no
 * longer belongs to the response, and may close the connection depending on what was written there (uWebSockets pull request 1929; neither
 * release in use contains the fix). So nothing in between may allocate memory: when the stream began in `open`, about one connection in 1,000 was
 * closed immediately.
 */
function upgraded(res: HttpResponse, admission: LiveAdmission, upgrade: (data: SocketData) => void): SocketSink {
  const opened: SocketData['opened'] = { ws: null, sink: null };
  const data = { opened };
  res.cork(() => upgrade(data));
  return (opened.sink = new SocketSink(opened.ws!, admission));
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

  /** Records that the client read some of the waiting data. */
  took(): void {
    this.noteWaiting(true);
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
