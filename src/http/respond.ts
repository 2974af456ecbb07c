import { STATUS_CODES } from 'node:http';
import { isUnavailable, unavailableAnswer } from '../engine/unavailable.ts';
import { AppError } from '../errors.ts';
import type { Log, LogThrottle } from '../telemetry/log.ts';
import { remoteAddress } from './client-address.ts';
import { requestIdOf } from './request-head.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { HttpResponse } from './uws.ts';
import { inOwnTurn } from '../pacing/turns.ts';

const STATUS_LINES: Record<number, string> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
);

export interface Response {
  status: number;
  /** JSON text; `null` without a body, only for statuses that have none (204). */
  json: string | null;
  /** The body instead of `json` if it is not text. */
  bytes?: Buffer;
  /** Set if the text is not JSON. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
  /** Why a request was refused. */
  refusal?: AppError;
}

/** `head`: send only headers. `cors`: additional headers. `requestId`: the request's ID if it has one. */
interface How {
  head: boolean;
  close: boolean;
  requestId?: string;
  cors: Readonly<Record<string, string>> | null;
}

/** Prevents browsers from interpreting an answer as another type, such as a page. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' } as const;

/** The value of `Cache-Control`, and the headers that follow it: one call of uWS, because each costs more than their bytes. */
const COMMON_HEADERS = [
  'no-store',
  'Vary: X-API-KEY, Tenant-ID',
  `X-Content-Type-Options: ${NOSNIFF['X-Content-Type-Options']}`,
].join('\r\n');

/** Forbids caching by proxies and browsers, because each answer is for one user and may soon change. */
const writeCommonHeaders = (res: HttpResponse): HttpResponse => res.writeHeader('Cache-Control', COMMON_HEADERS);

/**
 * Address of the peer whose connection uWS was last asked to close, until it has closed it; otherwise `null`.
 *
 * uWS closes a connection only after it has handled all bytes of its last read, so it would still execute a request that was sent together
 * with an invalid one. uWS has no identifier for connections, but it handles everything it read from one connection before it turns to
 * the next. So a request that arrives while this is set came over the same connection. The address protects other clients in the one
 * case where uWS closes later: when the peer has not read earlier answers.
 */
let closing: string | null = null;

function closes(res: HttpResponse): void {
  const peer = remoteAddress(res) ?? '';
  closing = peer;
  setImmediate(connectionClosed);
}

/** Call this when uWS has closed a connection. */
export function connectionClosed(): void {
  closing = null;
}

/** Refuses a request that follows one after which its connection closes (RFC 9112, 9.6). Returns whether it did. */
export function refusedAfterClose(res: HttpResponse): boolean {
  if (closing === null || closing !== (remoteAddress(res) ?? '')) return false;
  // Without an answer, uWS would neither close the connection nor send the previous answer.
  const error = new AppError('malformed', 'The connection is closed because of an earlier request');
  write(res, errorResponse(error), { head: false, close: true, cors: null });
  return true;
}

/** Writes a complete response. `close` also closes the connection, and no further request on it is executed. */
export function write(res: HttpResponse, response: Response, how: How): void {
  if (how.close) closes(res);
  res.cork(() => {
    const { status, headers, contentType = 'application/json' } = response;
    const json = response.bytes ?? response.json;
    if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? String(status));
    res.writeHeader('X-Request-Id', how.requestId ?? requestIdOf(null));
    writeCommonHeaders(res);
    if (json !== null) res.writeHeader('Content-Type', contentType);
    if (how.cors) for (const name in how.cors) res.writeHeader(name, how.cors[name]!);
    if (headers) for (const name in headers) res.writeHeader(name, headers[name]!);
    if (json !== null && !how.head) return res.end(json, how.close);
    // Without a length, a client would wait for a body. A 204 has none by definition.
    if (json === null && !how.head && status !== 204) return res.end('', how.close);
    // uWS cannot close the connection of a response without a body. An error must close it, and does not need the body's length.
    if (how.close && status >= 400) return res.end('', true);
    if (how.close) res.writeHeader('Connection', 'close');
    if (json !== null) res.writeHeader('Content-Length', String(Buffer.byteLength(json)));
    // Called without arguments: with a length, the response would never count as complete.
    return res.endWithoutBody();
  });
}

/** A response whose texts, but for the ID of the request, are put together once. */
export interface PreparedResponse {
  status: string;
  /** The headers after the request's ID: one call of uWS writes all of them. */
  headers: string;
  json: string;
}

/** Prepares a response with a body of JSON for a surface with these CORS headers. */
export function preparedResponse({ status, json, headers }: Response, cors: How['cors']): PreparedResponse {
  const more = Object.entries({ 'Content-Type': 'application/json', ...cors, ...headers });
  const lines = [`Cache-Control: ${COMMON_HEADERS}`, ...more.map(([name, value]) => `${name}: ${value}`)];
  return { status: STATUS_LINES[status]!, headers: lines.map((line) => `\r\n${line}`).join(''), json: json! };
}

/** Writes a prepared response while the request is being read, when uWS corks it by itself. */
export function writePrepared(res: HttpResponse, { status, headers, json }: PreparedResponse, requestId: string): void {
  res.writeStatus(status);
  res.writeHeader('X-Request-Id', requestId + headers);
  res.end(json);
}

/** The response for an expected failure. A hint that is not the error's own may be given. */
export const errorResponse = (error: AppError, hint = error.hint): Response => ({
  status: error.status,
  json: JSON.stringify({ error: error.message, code: error.code, hint, ...error.fields }),
  headers: error.headers,
  refusal: error,
});

/** The response to any exception. Faults are logged with the request's ID, outages are not logged each time. */
export function failureResponse(
  error: unknown,
  { log, logThrottle, requests }: { log: Log; logThrottle: LogThrottle; requests: RequestMetrics },
  request: { operation: string; requestId: string; traceId?: string },
): Response {
  requests.refused(error);
  if (error instanceof AppError) return errorResponse(error);
  if (isUnavailable(error)) {
    logThrottle.log(request.operation, (suppressed) =>
      log.warn({ ...request, err: error, suppressed }, 'Redis or Postgres is not available'),
    );
    return errorResponse(unavailableAnswer(error));
  }
  log.error({ ...request, err: error }, 'unexpected fault');
  return errorResponse(new AppError('internal', 'Internal error'));
}

interface StreamTo {
  /** Whether the response must no longer be used. */
  aborted(): boolean;
  /** Registers the one function to call when that happens. */
  onAbort(wake: () => void): void;
}

type Headers = Readonly<Record<string, string>>;

/**
 * Writes a 200 with JSON in pieces. Each piece waits until the previous one was sent, so that a large answer is never in memory as a whole. Rejects
 * with errors that occur before the first piece; nothing is written then. A later error cuts the connection, as does a server that shuts
 * down: without the last chunk, the client recognises that the answer is incomplete.
 * `closes`: asks the client to close the connection. This must be in the head: uWS writes the header into the body if it is asked to close at the
 * end of a chunked body.
 */
export async function streamJson(
  res: HttpResponse,
  chunks: AsyncIterator<string>,
  how: { to: StreamTo; head: boolean; headers: Headers; closes: () => boolean; failed: (error: unknown) => void },
): Promise<void> {
  const { to, head, failed } = how;
  let next = await chunks.next();
  if (to.aborted() || head) {
    await chunks.return?.();
    if (!to.aborted())
      res.cork(() => {
        writeHead(res, how);
        res.endWithoutBody();
      });
    return;
  }
  res.cork(() => writeHead(res, how));
  try {
    for (; next.done !== true && !to.aborted(); next = await chunks.next()) {
      const { value } = next;
      let flows = true;
      res.cork(() => void (flows = res.write(value)));
      if (!flows) await inOwnTurn(writable(res, to));
    }
    if (to.aborted()) await chunks.return?.();
    else res.cork(() => void res.end(''));
  } catch (error) {
    failed(error);
    if (!to.aborted()) res.close();
  }
}

function writeHead(res: HttpResponse, { headers, closes }: { headers: Headers; closes: () => boolean }): void {
  writeCommonHeaders(res);
  res.writeHeader('Content-Type', 'application/json');
  for (const name in headers) res.writeHeader(name, headers[name]!);
  if (closes()) res.writeHeader('Connection', 'close');
}

const writable = (res: HttpResponse, to: StreamTo): Promise<void> =>
  new Promise((resolve) => {
    to.onAbort(resolve);
    res.onWritable(() => {
      resolve();
      return true;
    });
  });

/** Redis does not hold the data that a request needs. */
export const notReady = (): AppError =>
  new AppError('unavailable', 'Redis is away, or is being filled from Postgres; try again in a moment.');
