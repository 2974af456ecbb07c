import { STATUS_CODES } from 'node:http';
import type { LogThrottle } from '../log/log-throttle.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import { isUnavailable } from '../engine/unavailable.ts';
import { remoteAddress } from './remote-address.ts';
import { requestIdOf } from './request-id.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { HttpResponse } from './uws.ts';

const STATUS_LINES: Record<number, string> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
);

export interface Response {
  status: number;
  /** JSON text; null: no body, only with a status that has none (204). */
  json: string | null;
  /** Where the text is not JSON. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
}

/**
 * `head`: headers only, as they would precede the body. `cors`: headers of every response, or none. `requestId`: of the
 * request, if it has one already.
 */
interface How {
  head: boolean;
  close: boolean;
  requestId?: string;
  cors: Readonly<Record<string, string>> | null;
}

/** What a browser must never take for anything else than it says it is, such as a page. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' } as const;

/** No answer may be kept by a cache on the way or in a browser: it is one user's, and a moment later it is another. */
export function writeCommonHeaders(res: HttpResponse): void {
  res
    .writeHeader('Cache-Control', 'no-store')
    .writeHeader('Vary', 'X-API-KEY, Tenant-ID')
    .writeHeader('X-Content-Type-Options', NOSNIFF['X-Content-Type-Options']);
}

/**
 * The peer of the connection that the last answer asked uWS to close, until uWS has closed it; null: none.
 *
 * uWS closes a connection only after it has handled all bytes that it read at once, so a request that was sent together
 * with a faulty one would still be executed. uWS has no name for a connection, but it handles what it read from one
 * connection before it turns to the next. So a request that arrives while this is set came on the same connection. The address
 * protects other clients in the one case where uWS closes later: when the peer has not read earlier answers.
 */
let closing: string | null = null;

function closes(res: HttpResponse): void {
  const peer = remoteAddress(res) ?? '';
  closing = peer;
  setImmediate(connectionClosed);
}

/** To be called when uWS has closed a connection. */
export function connectionClosed(): void {
  closing = null;
}

/** Refuses a request that follows one after which its connection is closed (RFC 9112, 9.6). False: it is not such a request. */
export function refusedAfterClose(res: HttpResponse): boolean {
  if (closing === null || closing !== (remoteAddress(res) ?? '')) return false;
  // Left without an answer, it would keep uWS from closing the connection and from sending the answer before it.
  const error = new AppError('malformed', 'The connection is closed because of an earlier request');
  write(res, errorResponse(error), { head: false, close: true, cors: null });
  return true;
}

/** Writes a response in one go. With `close`, the connection is closed, and no further request on it is executed. */
export function write(res: HttpResponse, response: Response, how: How): void {
  if (how.close) closes(res);
  res.cork(() => {
    const { status, json, headers, contentType = 'application/json' } = response;
    if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? String(status));
    res.writeHeader('X-Request-Id', how.requestId ?? requestIdOf(null));
    writeCommonHeaders(res);
    if (json !== null) res.writeHeader('Content-Type', contentType);
    if (how.cors) for (const name in how.cors) res.writeHeader(name, how.cors[name]!);
    if (headers) for (const name in headers) res.writeHeader(name, headers[name]!);
    if (json !== null && !how.head) return res.end(json, how.close);
    // Without a body, uWS cannot be asked to close the connection. A fault must close it, and needs no length of its text.
    if (how.close && status >= 400) return res.end('', true);
    if (how.close) res.writeHeader('Connection', 'close');
    if (json !== null) res.writeHeader('Content-Length', String(Buffer.byteLength(json)));
    // Without arguments: given a length, it would never count as answered.
    return res.endWithoutBody();
  });
}

/** The response for an expected failure. A hint that is not the error's own may be given. */
export const errorResponse = (error: AppError, hint = error.hint): Response => ({
  status: error.status,
  json: JSON.stringify({ error: error.message, code: error.code, hint }),
  headers: error.headers,
});

/**
 * The response for anything thrown. A fault is logged under the request's ID, which the client is given too, and
 * its text says nothing of the inside. That Redis or Postgres is away meets every request: it is not logged for each.
 */
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
    return errorResponse(new AppError('unavailable', 'The service is not available at the moment'));
  }
  log.error({ ...request, err: error }, 'unexpected fault');
  return errorResponse(new AppError('internal', 'Internal error'));
}
