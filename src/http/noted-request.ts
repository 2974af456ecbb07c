import { systemClock } from '../clock.ts';
import { type AppError, shortened } from '../errors.ts';
import { NOBODY, type Caller } from '../operations/operation.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Route } from './route.ts';

/** Characters of a path, and of a refusal's reason, that the list of latest requests keeps. */
const LONGEST_PATH = 300;
const LONGEST_REASON = 300;

interface AnsweredRequest {
  tenantNo: number;
  caller: Caller;
  rawParams: readonly string[];
  status: number;
  ms: number;
  refusal: AppError | undefined;
}

/** Lists an answered request among the latest, unless a console only reads. */
export function noteRequest({ services }: ExchangeContext, route: Route, request: AnsweredRequest): void {
  const { recentRequests } = services;
  const { tenantNo, caller, rawParams, status, ms, refusal } = request;
  if (!recentRequests.hasRoomFor(caller.prefix)) return;
  const { operation, paramNames } = route;
  // A client that polls the list would otherwise fill it.
  if (operation.id === 'admin_requests_list') return;
  if (caller === NOBODY || (caller.session !== undefined && operation.keyScopes.includes('read'))) return;
  recentRequests.note(tenantNo, {
    atMs: systemClock.now(),
    surface: operation.surface,
    method: operation.method.toUpperCase(),
    path: paramNames
      .reduce((path, name, at) => path.replace(`{${name}}`, () => rawParams[at]!), operation.path)
      .slice(0, LONGEST_PATH),
    status,
    durationMs: Math.round(ms * 10) / 10,
    prefix: caller.prefix,
    ...(refusal && { code: refusal.code, error: shortened(refusal.message, LONGEST_REASON) }),
  });
}
