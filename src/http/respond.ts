import { STATUS_CODES } from 'node:http';
import type { LogThrottle } from '../log/log-throttle.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import { isUnavailable } from '../engine/unavailable.ts';
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

/** No answer may be kept by a cache on the way or in a browser: it is one user's, and a moment later it is another. */
export function writeCaching(res: HttpResponse): void {
  res.writeHeader('Cache-Control', 'no-store').writeHeader('Vary', 'X-API-KEY, Tenant-ID');
}

/** Writes a response in one go. */
export function write(res: HttpResponse, response: Response, how: How): void {
  res.cork(() => {
    const { status, json, headers, contentType = 'application/json' } = response;
    if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? String(status));
    res.writeHeader('X-Request-Id', how.requestId ?? requestIdOf(null));
    writeCaching(res);
    if (json !== null) res.writeHeader('Content-Type', contentType);
    if (how.cors) for (const name in how.cors) res.writeHeader(name, how.cors[name]!);
    if (headers) for (const name in headers) res.writeHeader(name, headers[name]!);
    if (json !== null && !how.head) return res.end(json, how.close);
    if (how.close) res.writeHeader('Connection', 'close');
    if (json !== null) res.writeHeader('Content-Length', String(Buffer.byteLength(json)));
    // Without arguments: given a length, it would never count as answered.
    return res.endWithoutBody();
  });
}

const errorJson = (error: string): string => JSON.stringify({ error });

/** The response for an expected failure. */
export const errorResponse = (error: AppError): Response => ({
  status: error.status,
  json: errorJson(error.message),
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
  return { status: 500, json: errorJson('Internal error') };
}
