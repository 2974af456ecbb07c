import type { AppError } from '../errors.ts';
import type { Authenticator } from './access/auth.ts';
import { type TenantLookup, tenantOfHeader } from './access/tenancy.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { framingFault, readHead, requestIdOf, sizeFault } from './request-head.ts';
import { errorResponse, type Response, write } from './respond.ts';
import type { Route } from './route.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** By error, of which there is one for each time in Retry-After. */
const responses = new WeakMap<AppError, Response>();

/**
 * Refuses a request that would wait too long, before its body is read, its key is checked or anything is kept for it. In an
 * overload most requests are refused, so what a refusal costs is missing for the others.
 *
 * Returns `false` if the queue is short, or the sender may have its share, is unknown or breaks the protocol; the request's
 * exchange then decides. A client with a wrong secret learns nothing here that it would not learn with the right one.
 */
export function refusedAtOnce(
  context: ExchangeContext,
  route: Route,
  { res, req, headOnly }: { res: HttpResponse; req: HttpRequest; headOnly: boolean },
): boolean {
  const { admission, requests } = context;
  if (!admission.isLong(route.queue)) return false;
  const head = readHead(req);
  if (framingFault(head) !== null || sizeFault(req, head.bytes) !== null) return false;
  const from = context.senderOf(head);
  const error = from === null ? null : admission.refusal(route.queue, from, performance.now());
  if (error === null) return false;
  let response = responses.get(error);
  if (response === undefined) responses.set(error, (response = errorResponse(error)));
  requests.refused(error);
  route.times.answered(error.status, 0);
  write(res, response, {
    head: headOnly,
    close: context.draining,
    requestId: requestIdOf(head.requestId),
    cors: context.cors,
  });
  return true;
}

/** By keys and tenants in memory. Nothing is checked, so a request may claim to be of another sender: only refuse it. */
export const createSenderOf =
  (recall: Authenticator['recall'], tenants: TenantLookup): ExchangeContext['senderOf'] =>
  ({ apiKey, tenantId }) => {
    const caller = apiKey === null ? null : recall(apiKey);
    if (caller === null) return null;
    return { tenantNo: caller.tenantNo ?? tenantOfHeader(tenants, tenantId).no, prefix: caller.prefix };
  };
