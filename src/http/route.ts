import type { Attributes } from '@opentelemetry/api';
import type { Operation } from '../operations/operation.ts';
import { unsentDropper } from '../operations/unsent.ts';
import { adaptedWriter, type WriteAdapted } from './adapted-answer.ts';
import type { OperationTimes, RequestMetrics } from './request-metrics.ts';
import type { Check, Validation } from './validation.ts';

/** An operation with everything compiled that its requests need. */
export interface Route {
  operation: Operation;
  /** What the span of a request says from its beginning. */
  traced: { name: string; attributes: Attributes };
  /** Of its requests. */
  times: OperationTimes;
  paramNames: readonly string[];
  /** Whether the path names the user, so that a key for another user is refused before the rest is looked at. */
  userInPath: boolean;
  checkParams: Check | null;
  readQuery: ((raw: string) => unknown) | null;
  checkBody: Check | null;
  /** Most bytes of the body. */
  bodyBytes: number;
  /** Writes answers for clients that cannot read all of them; null where every client can. */
  writeAdapted: WriteAdapted | null;
  /** Removes the optional fields of a body that are null. */
  dropUnsent: (body: unknown) => void;
}

/** @param limits.bodyBytes of any body; an operation may allow less */
export function compileRoute(
  operation: Operation,
  { validation, limits, requests }: { validation: Validation; limits: { bodyBytes: number }; requests: RequestMetrics },
): Route {
  const { params, query, body, knownFields } = operation;
  try {
    return {
      operation,
      // The path as it is declared, and not as it was sent: that has IDs of users.
      traced: { name: operation.id, attributes: requestAttributes(operation) },
      times: requests.of(operation.id),
      paramNames: paramNames(operation.path),
      userInPath: operation.namedUsers !== null && operation.path.startsWith('/v1/users/{id}'),
      checkParams: params && validation.params(params),
      readQuery: query && validation.query(query),
      checkBody: body && validation.body(body, knownFields),
      bodyBytes: Math.min(operation.bodyBytes ?? limits.bodyBytes, limits.bodyBytes),
      writeAdapted: adaptedWriter(operation.responses),
      dropUnsent: body === null ? () => undefined : unsentDropper(body),
    };
  } catch (error) {
    throw new Error(`Operation ${operation.id}: a schema cannot be compiled`, { cause: error });
  }
}

/** By the semantic conventions for HTTP. */
const requestAttributes = ({ method, path, surface }: Operation): Attributes => ({
  'http.request.method': method.toUpperCase(),
  'http.route': path,
  'url.path': path,
  'url.scheme': 'http',
  'laurel.surface': surface,
});

/** `/v1/users/{id}` → `['id']`. */
export const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

/** `/v1/users/{id}` → `/v1/users/:id`, as uWS writes it. */
export const routePattern = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');
