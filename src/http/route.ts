import type { Attributes } from '@opentelemetry/api';
import { Type } from 'typebox';
import type { Operation } from '../operations/operation.ts';
import { unsentDropper } from '../operations/validation.ts';
import { adaptedWriter, type WriteAdapted } from './adapted-answer.ts';
import { type QueueName, queueOf } from './access/admission.ts';
import type { Charged } from './access/shares.ts';
import type { OperationTimes, RequestMetrics } from './request-metrics.ts';
import { bodyCheck, paramsCheck, queryParser, type Check } from './validation.ts';

export interface Route extends Charged {
  operation: Operation;
  queue: QueueName;
  traced: { name: string; attributes: Attributes };
  times: OperationTimes;
  paramNames: readonly string[];
  /** Whether the path names the user. A key of another user is then refused before further checks. */
  userInPath: boolean;
  checkParams: Check | null;
  readQuery: ((raw: string) => unknown) | null;
  checkBody: Check | null;
  bodyBytes: number;
  /** Adapts answers for clients that cannot read all values; `null` if every client can. */
  writeAdapted: WriteAdapted | null;
  /** Removes optional fields that are `null` from a body. */
  dropUnsent: (body: unknown) => void;
}

const NO_QUERY = Type.Object({});

/** The route of an operation on a surface. Its first request compiles its schemas. `bodyBytes`: limit for every body. */
export function routeOf(
  operation: Operation,
  surface: Operation['surface'],
  limits: { bodyBytes: number },
  requests: RequestMetrics,
): Route {
  const { params, query, body, knownFields, refusesUnknownQuery } = operation;
  let dropUnsent: Route['dropUnsent'] | undefined;
  return {
    operation,
    queue: queueOf(operation, surface),
    // The declared path, because the actual one contains user IDs.
    traced: { name: operation.id, attributes: requestAttributes(operation) },
    times: requests.of(operation.id),
    cost: requests.costOf(operation.id),
    billed: 0,
    paramNames: paramNames(operation.path),
    userInPath: operation.namedUsers !== null && operation.path.startsWith('/v1/users/{id}'),
    checkParams: params && paramsCheck(params),
    readQuery:
      query || refusesUnknownQuery ? queryParser(query ?? NO_QUERY, { refusesUnknown: refusesUnknownQuery }) : null,
    checkBody: body && bodyCheck(body, knownFields),
    bodyBytes: Math.min(operation.bodyBytes ?? limits.bodyBytes, limits.bodyBytes),
    writeAdapted: adaptedWriter(operation.responses),
    dropUnsent: (value) => (dropUnsent ??= unsentDropper(body!))(value),
  };
}

/** Follows the semantic conventions for HTTP. */
const requestAttributes = ({ method, path, surface }: Operation): Attributes => ({
  'http.request.method': method.toUpperCase(),
  'http.route': path,
  'url.path': path,
  'url.scheme': 'http',
  'laurel.surface': surface,
});

/** `/v1/users/{id}` → `['id']`. */
export const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

/** Converts `/v1/users/{id}` to uWS's syntax `/v1/users/:id`. */
export const routePattern = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');
