import type { AppError } from '../errors.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler } from './paths.ts';
import { requestIdOf } from './request-id.ts';
import { errorResponse, write, type Response } from './respond.ts';

/** Request headers that a page's script may send in any case. */
const ALLOWED = ['X-API-KEY', 'Content-Type', 'Idempotency-Key', 'Tenant-ID'];
/** Response headers that it may read. */
const EXPOSED = 'Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';
/** How long a browser may remember a preflight, in seconds: two hours, the longest that browsers keep to. */
const MAX_AGE = '7200';

/** The headers that let a page of this origin (`*`: of any) read a response. */
export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': EXPOSED,
});

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Our own headers and whatever else the page asks for: client libraries send headers that say what they are. They
 * are ignored here, and a list that leaves them out only keeps such a library from working in a browser.
 */
function allowedHeaders(asked: string): string {
  const known = new Set(ALLOWED.map((name) => name.toLowerCase()));
  const others = asked.split(',').map((name) => name.trim());
  return [...ALLOWED, ...others.filter((name) => HEADER_NAME.test(name) && !known.has(name.toLowerCase()))].join(', ');
}

/**
 * Answers a browser's preflight: an OPTIONS request that asks for a method. Any other OPTIONS request is refused
 * as `notAllowed`. Keys are sent in a header of their own and never by the browser itself, so that a page can do
 * nothing here without a key that it was given: any origin may be let in (Fetch standard, CORS protocol).
 */
export const preflightHandler =
  (context: ExchangeContext, { methods, notAllowed }: { methods: string; notAllowed: AppError }): Handler =>
  (res, req) => {
    const asked = context.cors !== null && req.getHeader('access-control-request-method') !== '';
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
    write(res, asked ? allowed : errorResponse(notAllowed), {
      head: false,
      close: context.draining,
      requestId: requestIdOf(req.getHeader('x-request-id')),
      cors: context.cors,
    });
  };
