import type { AppError } from '../errors.ts';
import type { Authenticator } from './access/auth.ts';
import { type TenantLookup, tenantOfHeader } from './access/tenancy.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { framingFault, readHead, requestIdOf } from './request-head.ts';
import { errorResponse, type PreparedResponse, preparedResponse, write, writePrepared } from './respond.ts';
import type { Route } from './route.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

/** Refuses a request that would wait too long. Returns whether it did. */
export type RefuseAtOnce = (
  route: Route,
  request: { res: HttpResponse; req: HttpRequest; headOnly: boolean },
) => boolean;

/**
 * Refuses requests that would wait too long, before their body is read, their key is checked or anything is kept for them. In an
 * overload most requests are refused, so what a refusal costs is missing for the others: the answer is prepared, and the length of
 * the request's head is not looked at.
 *
 * A request is not refused if the queue is short, or the sender may have its share, is unknown or breaks the protocol; the request's
 * exchange then decides. A client with a wrong secret learns nothing here that it would not learn with the right one.
 */
export function createRefuseAtOnce(context: ExchangeContext): RefuseAtOnce {
  const { admission, requests, cors } = context;
  /** By error, of which there is one for each time in Retry-After. */
  const responses = new Map<AppError, PreparedResponse>();
  return (route, { res, req, headOnly }) => {
    if (!admission.isLong(route.queue)) return false;
    const head = readHead(req);
    if (framingFault(head) !== null) return false;
    const from = context.senderOf(head);
    const error = from === null ? null : admission.refusal(route.queue, from, performance.now());
    if (error === null) return false;
    requests.refused(error);
    route.times.answered(error.status, 0);
    const requestId = requestIdOf(head.requestId);
    if (headOnly || context.closes) {
      write(res, errorResponse(error), { head: headOnly, close: context.closes, requestId, cors });
      return true;
    }
    let response = responses.get(error);
    if (response === undefined) responses.set(error, (response = preparedResponse(errorResponse(error), cors)));
    writePrepared(res, response, requestId);
    return true;
  };
}

/** By keys and tenants in memory. Nothing is checked, so a request may claim to be of another sender: only refuse it. */
export const createSenderOf =
  (recall: Authenticator['recall'], tenants: TenantLookup): ExchangeContext['senderOf'] =>
  ({ apiKey, tenantId }) => {
    const caller = apiKey === null ? null : recall(apiKey);
    if (caller === null) return null;
    return { tenantNo: caller.tenantNo ?? tenantOfHeader(tenants, tenantId).no, prefix: caller.prefix };
  };
