import type { AppError } from '../../errors.ts';
import type { ExchangeContext } from '../exchange-context.ts';
import type { Handler } from '../paths.ts';
import { requestIdOf } from '../request-head.ts';
import { errorResponse, type Response, write } from '../respond.ts';

const ALLOWED = ['X-API-KEY', 'Content-Type', 'Idempotency-Key', 'Tenant-ID'];
const EXPOSED = 'Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';
/** How long browsers may cache a preflight, in seconds: two hours, the longest that browsers accept. */
const MAX_AGE = '7200';

export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': EXPOSED,
});

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** Our own headers and any that the page requests, since the server ignores headers that it does not know. */
function allowedHeaders(requested: string): string {
  const known = new Set(ALLOWED.map((name) => name.toLowerCase()));
  const others = requested.split(',').map((name) => name.trim());
  return [...ALLOWED, ...others.filter((name) => HEADER_NAME.test(name) && !known.has(name.toLowerCase()))].join(', ');
}

/**
 * Answers a browser's preflight: an OPTIONS request that names a method. Other OPTIONS requests get `notAllowed`. Browsers never send keys on their
 * own, because keys have their own header. So a page can do nothing without a key, and any origin may be allowed (Fetch standard, CORS
 * protocol).
 */
export const preflightHandler =
  (context: ExchangeContext, methods: string, notAllowed: AppError): Handler =>
  (res, req) => {
    const isPreflight = context.cors !== null && req.getHeader('access-control-request-method') !== '';
    const allowed: Response = {
      status: 204,
      json: null,
      headers: {
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': allowedHeaders(req.getHeader('access-control-request-headers')),
        'Access-Control-Max-Age': MAX_AGE,
        Vary: 'Access-Control-Request-Headers',
      },
    };
    write(res, isPreflight ? allowed : errorResponse(notAllowed), {
      head: false,
      close: context.closes,
      requestId: requestIdOf(req.getHeader('x-request-id')),
      cors: context.cors,
    });
  };
